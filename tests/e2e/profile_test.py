"""Daily use of the command: a profile, and no flags (docs/cli.md)."""
import json
import os
import re
import stat
import subprocess

from harness import WAIT, Case, main


class Profile(Case):
    def setUp(self):
        super().setUp()
        self.server = self.dev()
        self.profile = self.folder / "config/better-compute/profile.toml"
        self.run_cli("login", "--url", self.server.url, "--pool",
                     self.server.pool, "--credential-file",
                     str(self.server.data / "root-credential"))

    def run_cli(self, *words, code=0):
        """(standard output, standard error) of a command without any of the
        environment's settings."""
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("BETTER_COMPUTE")}
        env["XDG_CONFIG_HOME"] = str(self.folder / "config")
        done = subprocess.run(
            [self.programs / "better-compute", *words], env=env,
            capture_output=True, text=True, timeout=WAIT,
            stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout, done.stderr

    def test_no_flags(self):
        """login finds the tenant; what was made is listed at once."""
        self.assertEqual(stat.S_IMODE(self.profile.stat().st_mode), 0o600)
        self.assertIn(self.server.tenant, self.run_cli("profiles")[0])
        made = json.loads(self.run_cli(
            "join-tokens", "create", "--ttl", "1h", "--key", "k", "--output",
            "json")[0])
        self.assertIn(f"position = {made['position']}",
                      self.profile.read_text())
        self.assertIn(made["id"], self.run_cli("join-tokens", "list")[0])
        self.assertRegex(self.run_cli("join-tokens", "list")[0], r"in \d+m")
        self.run_cli("logout")
        self.assertIn("no credential",
                      self.run_cli("nodes", "list", "--tenant", "ten_x",
                                   code=2)[1])

    def test_restored_server(self):
        """A position the server no longer has is told and forgotten."""
        self.profile.write_text(self.profile.read_text() +
                                "position = 999999999\n")
        out, err = self.run_cli("pools", "list")
        self.assertIn(self.server.pool, out)
        self.assertIn("ends before position 999999999", err)
        self.assertEqual(self.run_cli("pools", "list")[1], "")

    def test_life_of_a_node(self):
        token = self.folder / "join-token"
        self.run_cli("join-tokens", "create", "--ttl", "1h", "--key", "k",
                     "--out", str(token))
        code, out, err = self.machine("m").join(self.server,
                                                token.read_text())
        self.assertEqual(code, 0, err)
        node = re.search(r"node_\w+", out).group()
        self.assertIn("INVALID_STATE",
                      self.run_cli("nodes", "delete", node, "--yes",
                                   code=1)[1])
        self.run_cli("nodes", "cordon", node, "--reason", "fan 3")
        self.assertRegex(self.run_cli("nodes", "list")[0],
                         rf"{node}\s+cordoned")
        self.assertIn("fan 3", self.run_cli("nodes", "get", node)[0])
        self.run_cli("nodes", "adopt", node)
        self.run_cli("nodes", "revoke-identity", node, "--yes")
        self.run_cli("nodes", "cordon", node)
        self.run_cli("nodes", "delete", node, "--yes")
        self.assertNotIn(node, self.run_cli("nodes", "list")[0])
        self.assertRegex(self.run_cli("nodes", "list", "--all")[0],
                         rf"{node}\s+retired")
        audit = self.run_cli("audit", "list", "--since", "1h", "--resource",
                             f"compute-node/{node}")[0]
        for action in ("node.joined", "compute:nodes:cordon",
                       "compute:nodes:adopt", "compute:nodes:revoke-identity",
                       "compute:nodes:delete"):
            self.assertIn(action, audit)

    def test_sites_and_pools(self):
        site = json.loads(self.run_cli(
            "sites", "create", "--name", "b7", "--kind", "custom", "--output",
            "json")[0])["id"]
        self.run_cli("sites", "update", site, "--name", "b8")
        pool = json.loads(self.run_cli(
            "pools", "create", "--site", site, "--name", "gpu",
            "--join-attestor", "tpm", "--acceptance-check", "burn-in",
            "--output", "json")[0])["id"]
        shown = self.run_cli("pools", "get", pool)[0]
        self.assertRegex(shown, r"joinAttestors\s+tpm")
        self.assertRegex(shown, r"checks\s+burn-in")
        self.run_cli("pools", "update", pool, "--no-policy")
        self.assertNotIn("tpm", self.run_cli("pools", "get", pool)[0])
        token = self.folder / "site-token"
        made = self.run_cli("site-tokens", "create", "--site", site, "--ttl",
                            "1h", "--key", "a", "--out", str(token))[0]
        self.assertEqual(stat.S_IMODE(token.stat().st_mode), 0o600)
        self.run_cli("site-tokens", "revoke",
                     re.search(r"jt_\w+", made).group(), "--site", site)
        self.run_cli("pools", "archive", pool, "--yes")
        self.run_cli("sites", "delete", site, "--yes")
        self.assertNotIn(site, self.run_cli("sites", "list")[0])
        self.assertIn(site, self.run_cli("sites", "list", "--all")[0])


if __name__ == "__main__":
    main()
