"""The units of ops/systemd under a real systemd: they start, tell when they are
ready, reload, are started again, and stop (spec: docs/deploy.md)."""
import json
import re
import sys

import harness
from booted import Booted, obstacle
from deployment import ROOT, wait_until

UNITS = ROOT / "ops" / "systemd"
STORE = "sqlite:/var/lib/better-compute/journal.db"
SERVE, GATEWAY = "better-compute-serve", "better-compute-gateway"
API_KEYS = "better-compute-api-keys"
GATEWAY_KEYS = "better-compute-gateway-keys"
SECRET = "a secret of the deployment, long enough"

SERVER = f"""store = "{STORE}"
[api]
port = 7780
certificate_file = "/etc/better-compute/api.crt"
key_file = "/etc/better-compute/api.key"
[relay]
port = 7781
[gateway]
url = "https://localhost:7443"
[metrics]
port = 7782
"""

AT_THE_GATEWAY = """node_ca_file = "/etc/better-compute-gateway/node-ca.crt"
[listen]
port = 7443
certificate_file = "/etc/better-compute-gateway/serving.crt"
key_file = "/etc/better-compute-gateway/serving.key"
[api]
addresses = ["127.0.0.1:7781"]
[internal]
certificate_file = "/etc/better-compute-gateway/internal.crt"
key_file = "/etc/better-compute-gateway/internal.key"
ca_file = "/etc/better-compute-gateway/internal-ca.crt"
[metrics]
port = 7783
"""

# What is shown at a port, as SHA-256 of the certificate.
SHOWN = """import hashlib, ssl, sys
pem = ssl.get_server_certificate(("127.0.0.1", int(sys.argv[1])))
print(hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest())"""


class BootedTest(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.machine = Booted({
            name: cls.programs / name for name in ("better-compute", "bcd")})
        cls.addClassCleanup(cls.machine.stop)
        for unit in UNITS.glob("*.service"):
            cls.put("etc/systemd/system/" + unit.name, unit.read_text())
        drop_in = (UNITS / (SERVE + ".secrets.conf")).read_text()
        # As docs/deploy.md says: what is used is kept.
        kept = drop_in.split("\n\n")[0] + "\n"
        cls.put(f"etc/systemd/system/{SERVE}.service.d/secrets.conf", kept)
        cls.deploy()
        cls.machine.systemctl("daemon-reload")

    @classmethod
    def put(cls, name, text, mode=0o644):
        path = cls.machine.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    @classmethod
    def tool(cls, *words):
        return cls.machine.run("better-compute", *words,
                               BETTER_COMPUTE_SECRET=SECRET).stdout

    @classmethod
    def deploy(cls):
        """As docs/deploy.md, on SQLite."""
        run = cls.machine.run
        for group in (API_KEYS, GATEWAY_KEYS):
            run("groupadd", "--system", group)
        run("install", "-d", "-m", "0700", "/var/lib/better-compute")
        cls.tool("migrate", "--store", STORE)
        cls.tool("pki", "init", "--store", STORE, "--trust-domain",
                 "compute.example.com")
        made = json.loads(cls.tool(
            "credentials", "bootstrap", "--store", STORE, "--out",
            "/root/credential", "--output", "json"))
        cls.tenant = made["tenantId"]
        cls.pins = json.loads(cls.tool("pki", "show", "--store", STORE,
                                       "--output", "json"))
        for n in (1, 2, 3):
            cls.tool("pki", "issue-gateway", "--store", STORE, "--name",
                     "localhost", "--out-dir", f"/root/gw-{n}")
        cls.put("etc/better-compute/secret", SECRET + "\n", 0o600)
        cls.put("etc/better-compute/better-compute.toml", SERVER)
        cls.put("etc/better-compute-gateway/gateway.toml", AT_THE_GATEWAY)
        cls.install_api_key("gw-1")
        cls.install_gateway("gw-1")

    @classmethod
    def install_keys(cls, to, *files):
        group = GATEWAY_KEYS if "gateway" in to else API_KEYS
        cls.machine.run("install", "-m", "0640", "-g", group, *files, to)

    @classmethod
    def install_api_key(cls, folder):
        cls.machine.run("install", "-m", "0644", f"/root/{folder}/serving.crt",
                        "/etc/better-compute/api.crt")
        cls.install_keys("/etc/better-compute/api.key",
                         f"/root/{folder}/serving.key")

    @classmethod
    def install_gateway(cls, folder):
        names = ("serving", "internal", "internal-ca", "node-ca")
        cls.machine.run(
            "install", "-m", "0644",
            *(f"/root/{folder}/{n}.crt" for n in names),
            "/etc/better-compute-gateway/")
        cls.install_keys("/etc/better-compute-gateway/",
                         *(f"/root/{folder}/{n}.key" for n in names[:2]))

    # -- what the tests speak in

    def start(self, *units):
        """Returns once they say that they are ready."""
        for unit in units:
            self.machine.systemctl("start", unit)
            self.assertEqual(self.machine.show(unit, "ActiveState",
                                               "SubState"),
                             ["active", "running"])

    def pid(self, unit):
        return self.machine.show(unit, "MainPID")[0]

    def shown(self, port):
        return self.machine.run("python3", "-c", SHOWN, port).stdout.strip()

    def is_ready(self, port):
        done = self.machine.run("curl", "-fsS",
                                f"http://127.0.0.1:{port}/readyz",
                                check=False)
        return done.returncode == 0

    def cli(self, *words):
        return json.loads(self.machine.run(
            "better-compute", *words, "--output", "json",
            BETTER_COMPUTE_URL="https://localhost:7780",
            BETTER_COMPUTE_CA_FILE="/root/serving-ca.crt",
            BETTER_COMPUTE_CREDENTIAL_FILE="/root/credential",
            BETTER_COMPUTE_TENANT=self.tenant).stdout)

    # -- tests, in the order of their names: one machine, one deployment

    def test_1_both_servers_start_and_are_ready(self):
        self.start(SERVE, GATEWAY)
        for port in (7782, 7783):
            wait_until(lambda: self.is_ready(port), f"{port} is ready")
        for unit in (SERVE, GATEWAY):
            owner = self.machine.run(
                "stat", "-c", "%U %u", f"/proc/{self.pid(unit)}").stdout
            self.assertNotIn("root", owner)
            self.assertEqual(self.machine.show(unit, "NRestarts"), ["0"])

    def test_1b_neither_reads_the_keys_of_the_other(self):
        for unit, own, other in ((SERVE, API_KEYS, GATEWAY_KEYS),
                                 (GATEWAY, GATEWAY_KEYS, API_KEYS)):
            with self.subTest(unit):
                status = self.machine.run(
                    "cat", f"/proc/{self.pid(unit)}/status").stdout
                groups = re.search(r"^Groups:(.*)$", status, re.M)[1].split()
                self.assertIn(self.number_of(own), groups)
                self.assertNotIn(self.number_of(other), groups)

    def number_of(self, group):
        return self.machine.run("getent", "group", group).stdout.split(":")[2]

    def test_2_a_reload_takes_what_was_renewed(self):
        for unit, port, install, name in (
                (GATEWAY, 7443, self.install_gateway, "listen"),
                (SERVE, 7780, self.install_api_key, "api")):
            with self.subTest(unit):
                pid, before = self.pid(unit), self.shown(port)
                install("gw-2")
                self.machine.systemctl("reload", unit)
                taken = f"certificate {name}: taken anew"
                wait_until(lambda: taken in self.machine.said(unit), taken)
                after = self.shown(port)
                self.assertNotEqual(after, before)
                self.assertEqual(self.pid(unit), pid)
                # The key of another: the old pair goes on.
                broken = "/etc/better-compute/api.key" if unit == SERVE else \
                    "/etc/better-compute-gateway/serving.key"
                self.install_keys(broken, "/root/gw-3/serving.key")
                self.machine.systemctl("reload", unit)
                said = f"certificate {name}: its files are not taken"
                wait_until(lambda: said in self.machine.said(unit), said)
                self.assertEqual(self.shown(port), after)
                self.assertEqual(self.pid(unit), pid)
                install("gw-2")
        self.assertIn("certificate internal: taken anew",
                      self.machine.said(GATEWAY))

    def test_3_one_that_is_killed_is_started_again(self):
        for unit, port in ((GATEWAY, 7783), (SERVE, 7782)):
            before = self.pid(unit)
            self.machine.systemctl("kill", "-s", "KILL", unit)
            wait_until(lambda: self.pid(unit) not in (before, "0"),
                       f"{unit} is started again")
            wait_until(lambda: self.is_ready(port), f"{unit} is ready")
            self.assertEqual(self.machine.show(unit, "NRestarts"), ["1"])

    def test_4_a_machine_joins_at_boot_and_keeps_its_session(self):
        # The chain of the gateway ends in the CA that callers trust.
        chain = (self.machine.root / "root/gw-1/serving.crt").read_text()
        self.put("root/serving-ca.crt",
                 "-----BEGIN" + chain.split("-----BEGIN")[-1])
        site = self.cli("sites", "create", "--name", "one")["id"]
        pool = self.cli("pools", "create", "--name", "one", "--site",
                        site)["id"]
        token = self.cli("join-tokens", "create", "--pool", pool, "--ttl",
                         "10m", "--key", "one")["token"]
        document = json.loads(self.machine.run(
            "curl", "-fsS", "--cacert", "/root/serving-ca.crt",
            "https://localhost:7780/api/compute/.well-known/better-compute"
        ).stdout)
        self.put("etc/bcd/join-encryption.jwk",
                 json.dumps(document["join"]["encryptionJwk"]) + "\n")
        self.put("etc/bcd/config.toml",
                 f'gateway_url = "https://localhost:7443"\nsite = "{site}"\n'
                 f'serving_ca_spki_pin = "{self.pins["servingCaPin"]}"\n'
                 'join_signing_key_pin = '
                 f'"{self.pins["joinSigningPin"]}"\n'
                 'join_encryption_key_pin = '
                 f'"{self.pins["joinEncryptionPin"]}"\n', 0o600)
        self.put("etc/bcd/join-token", token + "\n", 0o600)
        self.machine.systemctl("start", "bcd-join")
        self.assertRegex(self.machine.said("bcd-join"), r"joined as node_\w+")
        wait_until(lambda: "connected to the gateway" in
                   self.machine.said("bcd"), "its session")
        self.assertEqual(self.machine.show("bcd", "ActiveState"), ["active"])
        # A gateway that reloads keeps it.
        sessions = self.connected()
        self.install_gateway("gw-3")
        self.machine.systemctl("reload", GATEWAY)
        wait_until(lambda: self.machine.said(GATEWAY).count(
            "certificate listen: taken anew") == 2, "taken anew")
        self.assertEqual(self.connected(), sessions)
        self.machine.systemctl("restart", "bcd")
        wait_until(lambda: self.connected() == sessions + 1,
                   "a session by the new certificate")

    def connected(self):
        return self.machine.said("bcd").count("connected to the gateway")

    def test_4b_it_goes_on_as_a_user_of_its_own(self):
        """With the drop-ins that the install script writes: of the TPM's
        group, then as the helper's user (docs/daemon.md)."""
        run, drop_ins = self.machine.run, "etc/systemd/system/bcd.service.d"
        before = self.connected()
        run("groupadd", "--system", "tss")
        self.put(f"{drop_ins}/tpm.conf", "[Service]\nSupplementaryGroups="
                 f"{self.number_of('tss')}\n")
        self.machine.systemctl("daemon-reload")
        self.machine.systemctl("restart", "bcd")
        groups = re.search(r"^Groups:(.*)$", run(
            "cat", f"/proc/{self.pid('bcd')}/status").stdout, re.M)[1].split()
        self.assertIn(self.number_of("tss"), groups)
        wait_until(lambda: self.connected() == before + 1, "its session")

        run("useradd", "--system", "--user-group", "--no-create-home", "bcd")
        self.put(f"{drop_ins}/helper.conf",
                 "[Unit]\nRequires=bcd-helper.service\n"
                 "After=bcd-helper.service\n[Service]\nUser=bcd\n")
        config = (self.machine.root / "etc/bcd/config.toml").read_text()
        self.put("etc/bcd/config.toml", config + '[tpm]\nenabled = "false"\n'
                 '[helper]\nuser = "bcd"\n')
        run("rm", f"/{drop_ins}/tpm.conf")
        self.machine.systemctl("daemon-reload")
        self.machine.systemctl("stop", "bcd")
        run("bcd", "join", "--config", "/etc/bcd/config.toml")
        self.start("bcd")
        self.assertEqual(self.machine.show("bcd-helper", "ActiveState",
                                           "SubState"), ["active", "running"])
        for unit, user in (("bcd", "bcd"), ("bcd-helper", "root")):
            self.assertEqual(run("stat", "-c", "%U", f"/proc/{self.pid(unit)}")
                             .stdout.strip(), user)
        wait_until(lambda: self.connected() == before + 2, "its session")
        # Under its sandbox it reads the firmware's names and asks the network
        # cards for theirs: all of it, or none.
        said = run("bcd", "doctor", check=False).stdout
        self.assertRegex(said, r"(?m)^ok +tpm-helper .* answers for bcd$")
        node = re.search(r"joined as (node_\w+)",
                         self.machine.said("bcd-join"))[1]
        found = self.cli("commands", "enqueue", node, "inventory.collect",
                         "--key", "by-helper", "--ttl", "60s", "--wait")
        self.assertIn("BOOTED-1", json.dumps(found))

    def test_5_all_stop_in_good_order(self):
        for unit in ("bcd", GATEWAY, SERVE):
            self.machine.systemctl("stop", unit)
            self.assertEqual(
                self.machine.show(unit, "ActiveState", "Result",
                                  "ExecMainStatus"),
                ["inactive", "success", "0"])
        for unit in (GATEWAY, SERVE):
            self.assertIn("info stopped", self.machine.said(unit))


if __name__ == "__main__":
    if reason := obstacle():
        print(f"skipped: {reason}")
        sys.exit(77)
    harness.main()
