"""A machine that was off until its certificate was over comes back by itself
(attestor x509pop), with the real programs and real time (case 108)."""
import json
import shutil
import signal
import subprocess
import time

from harness import WAIT, Case, Program, main

# What is left of the shortest lifetime once 5 minutes are taken off.
LIFE = 60


class Rejoin(Case):
    def setUp(self):
        super().setUp()
        self.control = self.dev("--certificate-lifetime", "6m")

    def bcd(self, command, machine, *options, data="data"):
        hardware = [] if command == "doctor" else \
            ["--fake-hardware", machine.folder / "hardware.json"]
        return [self.programs / "bcd-fakehw", command, "--config",
                self.control.data / "bcd" / "config.toml",
                "--data-dir", machine.folder / data, *hardware, *options]

    def run_bcd(self, *arguments, **names):
        return subprocess.run(self.bcd(*arguments, **names), text=True,
                              capture_output=True, timeout=WAIT)

    def renewal_check(self, machine):
        done = self.run_bcd("doctor", machine, "--output", "json")
        checks = json.loads(done.stdout)["checks"]
        return next(c for c in checks if c["check"] == "renewal")

    def test_rejoin(self):
        machine = self.machine("m1")
        token = self.control.token("once")["token"]
        code, _, err = machine.join(self.control, token)
        self.assertEqual(code, 0, err)
        node = Program(self.bcd("node", machine))
        self.addCleanup(node.kill)
        name = node.wait_for(r"runs as (node_\w+)").group(1)
        node.wait_for("connected to the gateway")
        node.process.send_signal(signal.SIGTERM)
        self.assertEqual(node.process.wait(timeout=10), 0)
        before = self.control.json("nodes", "get", name)
        self.assertEqual(before["status"], "adopted")
        # A copy of the disk, and other hardware with the key.
        shutil.copytree(machine.folder / "data", machine.folder / "copy")

        time.sleep(LIFE + 5)
        check = self.renewal_check(machine)
        self.assertEqual(check["status"], "warning")
        self.assertIn("would join again by its certificate", check["message"])

        thief = self.machine("m2")
        shutil.copytree(machine.folder / "data", thief.folder / "data")
        done = self.run_bcd("join", thief, "--attestor", "x509pop")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Join refused", done.stderr)

        node = Program(self.bcd("node", machine))
        self.addCleanup(node.kill)
        node.wait_for("joining again by it")
        node.wait_for("joined again by the expired certificate")
        node.wait_for("connected to the gateway")
        after = self.control.json("nodes", "get", name)
        self.assertEqual(after["status"], "adopted")
        self.assertEqual(after["joinedAt"], before["joinedAt"])
        self.assertEqual(after["attestor"], "x509pop")
        self.assertEqual(after["identityGeneration"],
                         before["identityGeneration"] + 1)
        joined = [e["data"] for e in self.control.events("node.joined")
                  if e["data"]["nodeId"] == name]
        self.assertEqual([j["attestor"] for j in joined],
                         ["join-token", "x509pop"])
        self.assertFalse(joined[-1]["reclaim"])

        done = self.run_bcd("join", machine, "--attestor", "x509pop",
                            data="copy")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.wait_until(lambda: {
            e["data"]["reason"]
            for e in self.control.events("security.join.refused")} >= {
                "x509pop:hardware-mismatch", "x509pop:generation"})

        # What an operator ended does not come back.
        node.process.send_signal(signal.SIGTERM)
        self.assertEqual(node.process.wait(timeout=10), 0)
        self.control.cli("nodes", "revoke-identity", name, "--reason", "lost",
                         "--yes")
        done = self.run_bcd("join", machine, "--attestor", "x509pop")
        self.assertEqual(done.returncode, 1, done.stderr)


if __name__ == "__main__":
    main()
