"""The gateway under its systemd unit's conditions (docs/deploy.md, systemd):
root installs, and a user without rights runs it."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from deployment import free_port
from harness import WAIT, Case, Program, main

ROOT = pathlib.Path(__file__).resolve().parents[2]
ETC = "/etc/better-compute-gateway"
# The group of the keys; nobody's stands for it here.
KEYS = "better-compute-gateway-keys"
NOBODY = 65534


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"),
                     "only root can run a program as somebody else")
class Installed(Case):
    def setUp(self):
        super().setUp()
        # One that everybody may enter, as /etc and /usr/bin are.
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="bc-installed-"))
        self.root.chmod(0o755)
        self.addCleanup(shutil.rmtree, self.root)
        self.etc = self.root / "etc"
        self.program = self.root / "better-compute"
        shutil.copy(self.programs / "better-compute", self.program)

    def tool(self, *words):
        env = dict(os.environ, BETTER_COMPUTE_SECRET="a secret of the test")
        subprocess.run([self.program, *map(str, words)], env=env, check=True,
                       capture_output=True, cwd=self.folder, timeout=WAIT)

    def install(self):
        """What the page's `install` lines for a gateway do, elsewhere."""
        page = (ROOT / "docs" / "deploy.md").read_text()
        page = re.sub(r"\\\n\s*", "", page)
        lines = [line.replace(ETC, str(self.etc)).replace(KEYS, str(NOBODY))
                 for line in re.findall(r"^install .*$", page, re.MULTILINE)
                 if ETC in line and "gw-2/" not in line]
        self.assertEqual(len(lines), 3, lines)
        subprocess.run(["sh", "-ec", "\n".join(lines)], check=True,
                       cwd=self.folder)

    def command(self):
        """What the unit starts; its group is given the keys."""
        unit = (ROOT / "ops" / "systemd" /
                "better-compute-gateway.service").read_text()
        self.assertIn(f"\nSupplementaryGroups={KEYS}\n", unit)
        command = re.search(r"^ExecStart=\S+ (.*)$", unit, re.MULTILINE)[1]
        return [word.replace(ETC, str(self.etc)) for word in command.split()]

    def test_gateway(self):
        bundle = ["--bundle", self.folder / "bundle"]
        self.tool("pki", "init", "--trust-domain", "a.example", *bundle)
        self.tool("pki", "issue-gateway", "--name", "localhost", *bundle,
                  "--out-dir", self.folder / "gw-1")
        sample = (ROOT / "ops" / "sample" / "gateway.toml").read_text()
        (self.folder / "gateway.toml").write_text(
            sample.replace(ETC, str(self.etc))
            .replace("port = 7443", f"port = {free_port()}")
            .replace("api-1.example.com", "127.0.0.1")
            .replace("api-2.example.com", "127.0.0.1"))
        self.install()
        keys = list(self.etc.glob("*.key"))
        self.assertEqual(len(keys), 2)
        for key in keys:
            self.assertEqual(key.stat().st_mode & 0o777, 0o640)
            self.assertEqual((key.stat().st_uid, key.stat().st_gid),
                             (0, NOBODY))
        gateway = Program(
            ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}",
             "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
             "--no-new-privs", self.program, *self.command()])
        self.addCleanup(gateway.kill)
        gateway.wait_for("^Ready: gateway ")
        gateway.process.terminate()
        self.assertEqual(gateway.process.wait(timeout=WAIT), 0)


if __name__ == "__main__":
    main()
