"""What the tests of the install script stand on: servers in namespaces of their
own, and downloads that go wrong."""
import contextlib
import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest
import uuid

from harness import WAIT, Case, Dev

ROOT = pathlib.Path(__file__).resolve().parents[2]
MACHINE = ROOT / "ops" / "machine"
VERSION = "0.1.0"
ARCH = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
OTHER = {"amd64": "arm64", "arm64": "amd64"}[ARCH]
SCRIPT = "/root/install-bcd.sh"
SHELLS = ("dash", "bash", "busybox ash")
HTML = b"<html><body>There is no such file here.</body></html>\n"


class Server:
    """A machine of ops/machine."""

    def __init__(self, folder, programs, *options):
        self.folder = folder
        self.root = folder / "root"
        self.env = dict(os.environ,
                        PATH=f"{programs}:{os.environ['PATH']}")
        self.tool("start", folder, *options)

    def tool(self, *words):
        subprocess.run([MACHINE, *map(str, words)], env=self.env, check=True,
                       timeout=WAIT)

    def run(self, *words, given=None, env=None, **keywords):
        """What a command in it did; without `given`, its standard input is
        /dev/null."""
        source = {"stdin": subprocess.DEVNULL} if given is None \
            else {"input": given}
        return subprocess.run(
            [MACHINE, "run", self.folder, *words], text=True,
            capture_output=True, timeout=WAIT, env=dict(self.env, **env or {}),
            **source, **keywords)

    def stop(self):
        self.tool("stop", self.folder)

    def be_another(self):
        """By its hardware: a machine that comes back again and again is taken
        for two."""
        for name in ("product_uuid", "product_serial"):
            (self.root / "sys/class/dmi/id" / name).write_text(
                f"{uuid.uuid4()}\n")

    def clean(self):
        """As it was before anything was installed; and another machine."""
        self.be_another()
        self.run("systemctl", "stop", "bcd")
        for name in ("etc/bcd", "var/lib/bcd"):
            path = self.root / name
            if path.is_symlink():
                path.unlink()
            shutil.rmtree(path, ignore_errors=True)
        for name in ("usr/local/bin/bcd", "etc/systemd/system/bcd.service",
                     "etc/systemd/system/bcd-helper.service",
                     "var/log/systemctl.log", "var/log/bcd.log",
                     "var/log/bcd-helper.log"):
            (self.root / name).unlink(missing_ok=True)

    def files(self):
        """Every file that an installation could touch, with its content."""
        found = {}
        for top in ("etc", "usr/local", "var/lib"):
            for path in sorted((self.root / top).rglob("*")):
                if path.is_file() and not path.is_symlink():
                    found[str(path)] = (path.stat().st_ino,
                                        path.read_bytes())
        return found

    def asked(self):
        log = self.root / "var/log/systemctl.log"
        return log.read_text().splitlines() if log.exists() else []

    def service(self):
        """The process of bcd.service, None when there is none."""
        if self.run("systemctl", "is-active", "bcd").returncode != 0:
            return None
        return (self.root / "run/bcd.pid").read_text().strip()


class Downloads:
    """An HTTP server that answers by the first part of the path."""

    def __init__(self, programs):
        self.bcd = (programs / "bcd").read_bytes()
        self.newer = self.bcd + b"\nof another build"
        self.paths = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.paths.append(self.path)
                how = self.path.split("/")[1]
                getattr(outer, f"give_{how}")(self)

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        # A client that stops in the middle is no news.
        self.server.handle_error = lambda *_: None
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()

    @staticmethod
    def give(to, status, body, length=None, **headers):
        to.send_response(status)
        to.send_header("content-length", str(length or len(body)))
        for name, value in headers.items():
            to.send_header(name, value)
        to.end_headers()
        to.wfile.write(body)

    def give_good(self, to):
        self.give(to, 200, self.bcd)

    def give_newer(self, to):
        self.give(to, 200, self.newer)

    def give_missing(self, to):
        self.give(to, 404, HTML)

    def give_forbidden(self, to):
        self.give(to, 403, HTML)

    def give_html(self, to):
        self.give(to, 200, HTML)

    def give_empty(self, to):
        self.give(to, 200, b"")

    def give_half(self, to):
        self.give(to, 206, self.bcd[:len(self.bcd) // 2])

    def give_cut(self, to):
        self.give(to, 200, self.bcd[:1_000_000], len(self.bcd))
        to.close_connection = True

    def give_redirect(self, to):
        self.give(to, 302, HTML, location=f"{self.url}/html/elsewhere")

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


class Watch:
    """Looks for a text in the arguments and environments of every process."""

    def __init__(self, text):
        self.text = text.encode()
        self.found = set()
        self.looks = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def _look(self):
        while not self._done.wait(0.002):
            self.looks += 1
            for name in ("cmdline", "environ"):
                for path in pathlib.Path("/proc").glob(f"[0-9]*/{name}"):
                    with contextlib.suppress(OSError):
                        if self.text in path.read_bytes():
                            self.found.add(str(path))

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()


# As ops/machine does it.
AS_ROOT = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]


def is_able():
    return subprocess.run(
        ["unshare", *AS_ROOT, "--mount", "--pid", "--uts", "--fork", "true"],
        capture_output=True, check=False).returncode == 0


@unittest.skipUnless(is_able(), "namespaces cannot be made here")
class InstallCase(Case):
    """A control plane, a Debian server and one with busybox alone."""

    @classmethod
    def setUpClass(cls):
        cls.folder_of_all = pathlib.Path(
            tempfile.mkdtemp(prefix="e2e-install-", dir="/tmp"))
        # As `install` would leave it: without what a debugger needs.
        cls.own = cls.folder_of_all / "programs"
        cls.own.mkdir()
        for name in ("better-compute", "bcd"):
            subprocess.run(["strip", "-o", cls.own / name,
                            cls.programs / name], check=True)
        cls.dev = Dev(cls.own, cls.folder_of_all / "data")
        cls.downloads = Downloads(cls.own)
        cls.server = Server(cls.folder_of_all / "debian", cls.own)
        cls.busybox = Server(cls.folder_of_all / "busybox", cls.own,
                             "--busybox")
        cls.count = 0

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        cls.busybox.stop()
        cls.downloads.stop()
        cls.dev.kill()
        shutil.rmtree(cls.folder_of_all)

    def setUp(self):
        super().setUp()
        self.server.clean()
        self.busybox.clean()
        self.downloads.paths.clear()

    # -- what the tests speak in

    def script(self, base="", digest=None, arch=ARCH, site=None, to=None):
        """Generates a script, which the server has then; its text."""
        program = self.downloads.bcd if digest is None else digest
        if isinstance(program, bytes):
            program = hashlib.sha256(program).hexdigest()
        where = ["--base-url", self.downloads.url, "--base-path", f"/{base}"] \
            if base else ["--base-url", self.dev.url]
        text = self.dev.cli(
            "daemon", "install-script", "--pool", self.dev.pool, "--site",
            site or self.dev.site, "--gateway-url", self.dev.gateway,
            "--bcd-version", VERSION, "--sha256", f"{arch}={program}", *where)
        ((to or self.server).root / SCRIPT[1:]).write_text(text)
        return text

    def token(self):
        type(self).count += 1
        return self.dev.token(f"install-{self.count}")

    def uses_left(self, token):
        listed = self.dev.json("join-tokens", "list", "--pool", self.dev.pool,
                               "--all")["items"]
        return [t["usesLeft"] for t in listed if t["id"] == token["id"]][0]

    def install(self, *options, given=None, shell="dash", to=None, env=None):
        return (to or self.server).run(*shell.split(), SCRIPT, *options,
                                       given=given, env=env)

    @staticmethod
    def inner(to):
        """The first process of a server, by its number here."""
        outer = (to.folder / "machine.pid").read_text().strip()
        return pathlib.Path(
            f"/proc/{outer}/task/{outer}/children").read_text().split()[0]

    def adopt(self, **keywords):
        token = self.token()
        done = self.install(given=token["token"] + "\n", **keywords)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return token, done

    def assert_stops(self, done, *parts, code=1):
        text = done.stdout + done.stderr
        self.assertEqual(done.returncode, code, text)
        for part in parts:
            self.assertIn(part, text)

    def assert_changes_nothing(self, *parts, given=None, options=(), code=1,
                               shell="dash", env=None, before=None, to=None):
        to = to or self.server
        before = before or to.files()
        asked = to.asked()
        done = self.install(*options, given=given, shell=shell, env=env, to=to)
        self.assert_stops(done, *parts, code=code)
        after = {name: content for name, content in to.files().items()
                 if not name.endswith("/.install-lock")}
        self.assertEqual(sorted(after), sorted(
            n for n in before if not n.endswith("/.install-lock")))
        for name, content in after.items():
            self.assertEqual(content, before[name], name)
        self.assertEqual(to.asked(), asked)
