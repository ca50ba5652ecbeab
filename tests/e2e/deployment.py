"""A deployment of several processes on one Postgres, as docs/deploy.md has
it."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from harness import WAIT, Program

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECRET = "a secret of the end-to-end test"
BASE = "/api/compute"


def free_port():
    """One that nothing listens on now; a program started again needs the same
    one."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def get(url, timeout=5):
    """(status, text) of one GET; (0, why) when nothing answers."""
    try:
        with urllib.request.urlopen(url, timeout=timeout) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
    except OSError as e:
        return 0, str(e)


class Postgres:
    """A server of its own. Its folder must be one the user postgres can
    enter."""

    def __init__(self, *settings, standby_of=None):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="bc-e2e-",
                                                    dir="/dev/shm"))
        self.folder.chmod(0o711)
        self.data = self.folder / "postgres"
        self.settings = ("shared_buffers=64MB", *settings)
        self.frozen = []
        if standby_of:
            self.url = self._do("standby", standby_of.data,
                                *self.settings).strip()
        else:
            self.url = self.start()

    def start(self):
        return self._do("start", *self.settings).strip()

    def stop(self, *how):
        self._do("stop", *how)

    def promote(self):
        self._do("promote")

    def ask(self, *statements):
        """What psql prints of the last one."""
        return subprocess.run(
            ["psql", "-XAtq", self.url, *(a for s in statements
                                          for a in ("-c", s))],
            check=True, stdout=subprocess.PIPE, text=True
        ).stdout.splitlines()[-1]

    def freeze(self):
        """It takes connections and answers nothing, until thaw()."""
        self.frozen = [int((self.data / "data" / "postmaster.pid")
                           .read_text().split()[0])]
        os.kill(self.frozen[0], signal.SIGSTOP)
        for entry in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = entry.read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == self.frozen[0]:
                self.frozen.append(int(entry.parent.name))
                os.kill(self.frozen[-1], signal.SIGSTOP)

    def thaw(self):
        for process in reversed(self.frozen):
            os.kill(process, signal.SIGCONT)
        self.frozen = []

    def _do(self, what, *options):
        return subprocess.run(
            [ROOT / "ops" / "postgres", what, self.data, *options], check=True,
            stdout=subprocess.PIPE, text=True).stdout

    def remove(self):
        self.thaw()
        subprocess.run([ROOT / "ops" / "postgres", "stop", self.data,
                        "immediate"], stderr=subprocess.DEVNULL, check=False)
        subprocess.run(["rm", "-rf", self.folder], check=False)


class Server(Program):
    """A program of the deployment, with fixed ports, so that it can be started
    again."""

    def __init__(self, name, command, folder, env):
        self.name, self.command, self.env = name, command, env
        self.log = folder / f"{name}.log"
        self.start()

    def start(self):
        with self.log.open("a") as log:
            super().__init__(self.command, env=self.env, log=log)
        try:
            self.wait_for("^Ready: ")
        except AssertionError:
            raise AssertionError(f"{self.name} did not start:\n"
                                 f"{self.log.read_text()[-2000:]}") from None

    def stop(self):
        """As systemd does it; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)

    def said(self):
        return self.log.read_text()


class Api(Server):
    def __init__(self, deployment, name, *options, store=None):
        api, self.relay_port, metrics = (free_port() for _ in range(3))
        self.url = f"http://127.0.0.1:{api}"
        self.metrics_url = f"http://127.0.0.1:{metrics}"
        super().__init__(name, [
            deployment.programs / "better-compute", "serve",
            "--store", store or deployment.store, "--api-port", str(api),
            "--relay-port", str(self.relay_port), "--metrics-port",
            str(metrics), *options], deployment.folder, deployment.env)

    def is_ready(self):
        return get(self.url + "/readyz")[0] == 200

    def metric(self, name):
        for line in get(self.metrics_url + "/metrics")[1].splitlines():
            if line.startswith(name + " "):
                return int(line.rsplit(" ", 1)[1])
        return None


class Gateway(Server):
    """What a machine needs to join stands in data/bcd, as `dev` leaves it."""

    def __init__(self, deployment, name, apis):
        self.programs = deployment.programs
        self.data = deployment.folder / name
        self.data.mkdir()
        self.port, metrics = free_port(), free_port()
        self.metrics_url = f"http://127.0.0.1:{metrics}"
        pki = deployment.gateway_files(self.data)
        super().__init__(name, [
            deployment.programs / "better-compute", "gateway",
            "--listen-address", "127.0.0.1", "--listen-port", str(self.port),
            "--api-addresses",
            ",".join(f"127.0.0.1:{a.relay_port}" for a in apis),
            "--metrics-port", str(metrics),
            # Every machine of a test comes from one address.
            "--limits-connections-per-address", "4096",
            "--limits-requests-per-second", "0", *pki],
            deployment.folder, {})
        deployment.write_machine_config(self.data, self.port)

    def is_ready(self):
        return get(self.metrics_url + "/readyz")[0] == 200


class Deployment:
    """One Postgres (or a pair) and what serves from it, until remove()."""

    def __init__(self, programs, folder, postgres=Postgres):
        self.programs = pathlib.Path(programs)
        self.folder = pathlib.Path(folder)
        self.env = {"BETTER_COMPUTE_SECRET": SECRET}
        self.running = []
        self.postgres = postgres()
        self.store = self.postgres.url
        try:
            self._make()
        except BaseException:
            self.postgres.remove()
            raise

    def _make(self):
        self.tool("migrate", "--store", self.store)
        self.tool("pki", "init", "--store", self.store, "--trust-domain",
                  "compute.example.com")
        self.credential = self.folder / "root-credential"
        made = self.tool("credentials", "bootstrap", "--store", self.store,
                         "--out", self.credential, "--output", "json")
        self.tenant = json.loads(made)["tenantId"]
        self.pins = json.loads(self.tool("pki", "show", "--store", self.store,
                                         "--output", "json"))

    def api(self, name, *options, store=None):
        return self._keep(Api(self, name, *options, store=store))

    def gateway(self, name, apis):
        return self._keep(Gateway(self, name, apis))

    def _keep(self, server):
        self.running.append(server)
        return server

    def remove(self):
        for server in self.running:
            if server.process.poll() is None:
                server.kill()
        self.postgres.remove()

    def tool(self, *arguments, code=0, env=None):
        """better-compute on this host: its standard output, or its error text
        when another exit code is expected."""
        done = subprocess.run(
            [self.programs / "better-compute", *arguments],
            env={**os.environ, **self.env, **(env or {})},
            capture_output=True, text=True, timeout=300)
        assert done.returncode == code, \
            f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    def cli(self, api, *arguments, code=0):
        """The same, for a command that asks an API process."""
        return self.tool(*arguments, code=code, env={
            "BETTER_COMPUTE_URL": api.url,
            "BETTER_COMPUTE_CREDENTIAL_FILE": str(self.credential),
            "BETTER_COMPUTE_TENANT": self.tenant})

    def call(self, api, method, **fields):
        """(status, answer) of POST {basePath}/{method}."""
        request = urllib.request.Request(
            f"{api.url}{BASE}/{method}",
            json.dumps({"tenantId": self.tenant, **fields}).encode(),
            {"content-type": "application/json", "authorization":
             f"Bearer {self.credential.read_text().strip()}"})
        try:
            with urllib.request.urlopen(request, timeout=WAIT) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as e:
            return e.code, json.loads(e.read())

    def must(self, api, method, **fields):
        status, answer = self.call(api, method, **fields)
        assert status == 200, f"{method}: {status} {answer}"
        return answer

    def items(self, api, method, **fields):
        """Every page of a list."""
        out, cursor = [], None
        while True:
            more = {"cursor": cursor} if cursor else {}
            page = self.must(api, method, **fields, **more)
            out += page["items"]
            cursor = page.get("cursor")
            if not cursor:
                return out

    def events(self, api, kind):
        text = self.cli(api, "events", "list", "--type", kind, "--output",
                        "json")
        return [json.loads(line) for line in text.splitlines()]

    def make_pool(self, api):
        self.site = self.must(api, "sites/create", name="e2e",
                              kind="dedicated")["id"]
        self.pool = self.must(api, "pools/create", name="e2e",
                              siteId=self.site, agent="bcd")["id"]

    def token(self, api, key, uses):
        return self.must(api, "joinTokens/create", poolId=self.pool,
                         ttlSeconds=3600, maxUses=uses, idempotencyKey=key)

    def gateway_files(self, folder):
        """What `pki issue-gateway` makes, as flags of `gateway`."""
        folder = folder / "pki"
        self.tool("pki", "issue-gateway", "--store", self.store, "--name",
                  "localhost", "--out-dir", folder)
        return ["--listen-certificate-file", folder / "serving.crt",
                "--listen-key-file", folder / "serving.key",
                "--internal-certificate-file", folder / "internal.crt",
                "--internal-key-file", folder / "internal.key",
                "--internal-ca-file", folder / "internal-ca.crt",
                "--node-ca-file", folder / "node-ca.crt"]

    def write_machine_config(self, folder, port):
        bcd = folder / "bcd"
        bcd.mkdir()
        (bcd / "config.toml").write_text(
            f'gateway_url = "https://localhost:{port}"\n'
            f'site = "{self.site}"\n'
            f'serving_ca_spki_pin = "{self.pins["servingCaPin"]}"\n'
            f'join_signing_key_pin = "{self.pins["joinSigningPin"]}"\n'
            f'join_encryption_key_pin = "{self.pins["joinEncryptionPin"]}"\n')
        (bcd / "join-encryption.jwk").write_text(self.join_jwk() + "\n")

    def join_jwk(self):
        for server in self.running:
            if isinstance(server, Api) and server.process.poll() is None:
                status, text = get(f"{server.url}{BASE}"
                                   "/.well-known/better-compute")
                assert status == 200, text
                return json.dumps(json.loads(text)["join"]["encryptionJwk"])
        raise AssertionError("no API process is running")

    def verify(self):
        return self.tool("journal", "verify", "--store", self.store)


def wait_until(condition, what, limit=WAIT):
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError(f"it did not come true: {what}")
