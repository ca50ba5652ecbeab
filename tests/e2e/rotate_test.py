"""Every key of a deployment is replaced while nodes depend on it, with the real
programs: no node is lost (issues 5; docs/rotate-keys.md)."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

from harness import WAIT, Case, Program, main

NODES = 3
SIMULATED = 50
# Of 460 s the first 300 lie in the past: a daemon that starts finds its
# certificate due for renewal, and has 160 s to get another.
LIFETIME = "460s"


class Rotate(Case):
    def setUp(self):
        super().setUp()
        self.machines = []
        self.install = None  # the configuration of the first day

    def start(self):
        dev = self.dev("--certificate-lifetime", LIFETIME, "--sim",
                       str(SIMULATED))
        if self.install:
            # Its port is another each time; the pins stay.
            text = self.install.read_text()
            self.install.write_text(re.sub(
                r'gateway_url = ".*"', f'gateway_url = "{dev.gateway}"', text))
        return dev

    def tool(self, *words):
        secret = (self.folder / "data" / "secret").read_text().strip()
        done = subprocess.run(
            [self.programs / "better-compute", *words, "--store",
             f"sqlite:{self.folder / 'data' / 'journal.db'}"],
            env=dict(os.environ, BETTER_COMPUTE_SECRET=secret),
            capture_output=True, text=True, timeout=WAIT)
        self.assertEqual(done.returncode, 0,
                         f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout

    def join_all(self, dev):
        # What the install script wrote on the first day stays as it is.
        self.install = self.folder / "installed.toml"
        self.install.write_text(
            (dev.data / "bcd" / "config.toml").read_text())
        for i in range(NODES):
            machine = self.machine(f"m{i}")
            code, _, err = machine.join(dev, dev.token(f"m{i}")["token"])
            self.assertEqual(code, 0, err)
            self.machines.append(machine)

    def identity(self, machine):
        return json.loads(
            (machine.folder / "data" / "identity.json").read_text())

    def simulated(self):
        """Each simulated machine's identity, by its name."""
        found = {}
        for file in (self.folder / "data" / "machines").glob(
                "*/identity.json"):
            found[file.parent.name] = json.loads(file.read_text())
        return found

    def fleet_joined(self, dev):
        """All of them, and each has a session."""
        dev.wait_for("Ctrl-C stops")
        self.wait_until(lambda: {e["data"]["nodeId"] for e in
                                 dev.events("node.connected")} >=
                        {i["nodeId"] for i in self.simulated().values()})
        fleet = self.simulated()
        self.assertEqual(len(fleet), SIMULATED)
        return fleet

    def renew_all(self, dev):
        """Each daemon starts, has its session, and renews; the simulated ones
        do so by themselves."""
        before = [self.identity(m) for m in self.machines]
        nodes = [Program([self.programs / "bcd-fakehw", "node", "--config",
                          self.install, "--data-dir", m.folder / "data"])
                 for m in self.machines]
        try:
            for node in nodes:
                node.wait_for("connected to the gateway")
            self.wait_until(lambda: all(
                self.identity(m)["certificateChain"] != b["certificateChain"]
                for m, b in zip(self.machines, before)))
            for m, b in zip(self.machines, before):
                self.assertEqual(self.identity(m)["nodeId"], b["nodeId"])
            # With the new certificate too.
            for node in nodes:
                node.wait_for("renewed; ")
        finally:
            for node in nodes:
                node.process.send_signal(signal.SIGTERM)
                node.process.wait(timeout=WAIT)
        for m in self.machines:
            done = subprocess.run(
                [self.programs / "bcd-fakehw", "doctor", "--config",
                 self.install, "--data-dir", m.folder / "data", "--output",
                 "json"], capture_output=True, text=True, timeout=WAIT)
            checks = {c["check"]: c for c in json.loads(done.stdout)["checks"]}
            self.assertEqual(checks["gateway"]["status"], "ok", checks)
        self.wait_until(lambda: all(
            i["certificateChain"] != self.fleet[name]["certificateChain"]
            for name, i in self.simulated().items()))
        now = self.simulated()
        self.assertEqual({n: i["nodeId"] for n, i in now.items()},
                         {n: i["nodeId"] for n, i in self.fleet.items()})
        self.fleet = now
        self.assertEqual(len(dev.json("nodes", "list", "--pool",
                                      dev.pool)["items"]), NODES + SIMULATED)

    def verified(self):
        """By what an auditor keeps, and by the store's own keys."""
        shown = json.loads(self.tool("pki", "show", "--output", "json"))
        keys = self.folder / "journal.keys"
        keys.write_text("".join(k + "\n" for k in shown["journalKeys"]))
        for words in (["--journal-key", str(keys)], []):
            told = json.loads(self.tool("journal", "verify", *words,
                                        "--output", "json"))
            self.assertTrue(told["clean"] and told["signaturesChecked"], told)
        return shown, told["checkpoints"]

    def wait_for_checkpoint(self, number):
        deadline = time.monotonic() + 90
        while self.verified()[1] < number and time.monotonic() < deadline:
            time.sleep(1)
        self.assertGreaterEqual(self.verified()[1], number)

    def stop(self, dev):
        dev.stop()
        return self.verified()[0]

    def test_every_key(self):
        dev = self.start()
        self.join_all(dev)
        self.fleet = self.fleet_joined(dev)
        self.wait_for_checkpoint(1)
        shown = self.stop(dev)
        pins = {k: shown[k] for k in ("servingCaPin", "joinSigningPin",
                                      "joinEncryptionPin")}
        for words, rotating in ((["prepare"], "prepared"),
                                (["activate", "--early"], "activated"),
                                (["retire", "--early"], None)):
            self.tool("pki", "rotate", *words)
            dev = self.start()
            self.renew_all(dev)
            shown = self.stop(dev)
            steps = {r["step"] for r in shown["rotating"]}
            self.assertEqual(steps, {rotating} if rotating else set())
            self.assertEqual(len(shown["rotating"]), 7 if rotating else 0)
        for name, old in pins.items():
            self.assertNotEqual(shown[name], old)
        for who in [self.identity(m) for m in self.machines] + list(
                self.simulated().values()):
            self.assertEqual(who["servingCaPins"], [shown["servingCaPin"]])
            self.assertEqual(who["joinSigningPins"],
                             [shown["joinSigningPin"]])
        # A machine that comes now, with what dev writes today.
        dev = self.start()
        late = self.machine("late")
        code, _, err = late.join(dev, dev.token("late")["token"])
        self.assertEqual(code, 0, err)
        # The next checkpoint is a minute after the last, by the new key: both
        # stand beside each other.
        self.wait_for_checkpoint(2)
        self.stop(dev)


if __name__ == "__main__":
    main()
