"""A node's life with the real programs: `bcd node`, `bcd doctor`, a join
without a configuration, the binary itself."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
import unittest

from harness import WAIT, Case, Program, main


class Door:
    """Stands before a gateway: counts connections and passes them on."""

    def __init__(self, port):
        self.count = 0
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self.count += 1
                far = socket.create_connection(("127.0.0.1", self._to))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, daemon=True,
                                     args=(one, other)).start()

    @staticmethod
    def _pass(one, other):
        with one, contextlib.suppress(OSError):
            while data := one.recv(65536):
                other.sendall(data)
        with contextlib.suppress(OSError):
            other.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()


class Node(Case):
    def setUp(self):
        super().setUp()
        self.control = self.dev()

    def joined(self, name="m1"):
        machine = self.machine(name)
        token = self.control.token(name)["token"]
        code, out, err = machine.join(self.control, token)
        self.assertEqual(code, 0, err)
        return machine

    def bcd(self, command, machine, *options, config=None):
        return [self.programs / "bcd", command, "--config",
                config or self.control.data / "bcd" / "config.toml",
                "--data-dir", machine.folder / "data", *options]

    def through(self, door):
        """A configuration that leads to the gateway by a door."""
        text = (self.control.data / "bcd" / "config.toml").read_text()
        config = self.control.data / "by-door.toml"
        config.write_text(re.sub(r'(gateway_url = "https://[^:]*):\d+"',
                                 rf'\1:{door.port}"', text))
        return config

    def doctor(self, machine):
        done = subprocess.run(self.bcd("doctor", machine, "--output", "json"),
                              capture_output=True, text=True, timeout=WAIT)
        report = json.loads(done.stdout)
        self.assertEqual(done.returncode, 0 if report["ok"] else 1)
        return {c["check"]: c for c in report["checks"]}

    def test_node(self):
        """A session, the doctor beside it, a stop; one at a time (case 178)."""
        machine = self.joined()
        checks = self.doctor(machine)
        self.assertEqual(checks["identity"]["status"], "ok")
        self.assertEqual(checks["gateway"]["status"], "ok", checks)
        self.assertEqual(checks["clock"]["status"], "ok", checks)
        self.assertEqual(checks["daemon"]["status"], "warning")

        node = Program(self.bcd("node", machine))
        self.addCleanup(node.kill)
        node.wait_for(r"runs as node_\w+; the certificate expires at")
        node.wait_for("connected to the gateway")
        self.wait_until(lambda: self.doctor(machine).get(
            "session", {}).get("status") == "ok")
        checks = self.doctor(machine)
        self.assertEqual({c["status"] for c in checks.values()}, {"ok"},
                         checks)
        self.assertIn(str(node.process.pid), checks["daemon"]["message"])

        second = subprocess.run(self.bcd("node", machine), timeout=WAIT,
                                capture_output=True, text=True)
        self.assertEqual(second.returncode, 7)
        self.assertIn(f"another bcd runs (pid {node.process.pid})",
                      second.stderr)
        code, out, err = machine.join(self.control, "")
        self.assertEqual(code, 0, err)
        self.assertIn("already joined", out)
        code, _, err = machine.join(self.control, "",
                                    options=["--reset", "--yes"])
        self.assertEqual(code, 7)
        self.assertIn("another bcd runs", err)
        self.assertIn("systemctl stop bcd", err)

        node.process.send_signal(signal.SIGTERM)
        self.assertEqual(node.process.wait(timeout=10), 0)

    def test_evicted(self):
        """A deleted node's daemon says why and does not loop; the doctor
        explains, --reset brings the machine back (cases 67, 69)."""
        machine = self.joined()
        door = Door(int(self.control.gateway.rpartition(":")[2]))
        self.addCleanup(door.close)
        node = Program(self.bcd("node", machine, config=self.through(door)))
        self.addCleanup(node.kill)
        name = node.wait_for(r"runs as (node_\w+)").group(1)
        node.wait_for("connected to the gateway")
        self.control.cli("nodes", "cordon", name, "--reason", "gone")
        self.control.cli("nodes", "delete", name, "--reason", "gone", "--yes")
        node.wait_for("no session with the gateway")
        self.wait_until(lambda: self.doctor(machine).get(
            "session", {}).get("status") == "failed")
        self.assertIn("--reset --yes",
                      self.doctor(machine)["session"]["advice"])
        # It waits a minute at least; one that did not would come again and
        # again meanwhile, whatever it logs.
        tried = door.count
        time.sleep(3)
        self.assertEqual(door.count, tried)
        node.process.send_signal(signal.SIGTERM)
        node.process.wait(timeout=10)

        token = self.control.token("again")["token"]
        code, out, err = machine.join(self.control, token)
        self.assertEqual(code, 0, err)
        self.assertIn("already joined", out)
        listed = self.control.json("join-tokens", "list", "--pool",
                                   self.control.pool)["items"]
        self.assertIn(1, [t["usesLeft"] for t in listed])
        code, out, err = machine.join(self.control, token,
                                      options=["--reset", "--yes"])
        self.assertEqual(code, 0, err)
        self.assertIn("systemctl restart bcd", out)
        self.assertNotIn(name, out)
        self.assertEqual(self.doctor(machine)["identity"]["status"], "ok")

    def test_from_document(self):
        """A machine without a configuration joins by the control plane's
        document and pins (cases 84, 171)."""
        control, machine = self.control, self.machine("m2")
        text = (control.data / "bcd" / "config.toml").read_text()
        pins = dict(re.findall(r'^(\w+_pin) = "(.*)"$', text, re.MULTILINE))
        etc = machine.folder / "etc"
        token = machine.folder / "token"
        token.write_text(control.token("by-document")["token"] + "\n")

        def join(*options):
            done = subprocess.run(
                [self.programs / "bcd-fakehw", "join", "--config",
                 etc / "config.toml", "--data-dir", machine.folder / "data",
                 "--fake-hardware", machine.folder / "hardware.json",
                 "--server", control.url, "--token-file", token, *options],
                capture_output=True, text=True, timeout=WAIT,
                stdin=subprocess.DEVNULL)
            return done.returncode, done.stdout, done.stderr

        good = ["--site", control.site,
                "--serving-ca-pin", pins["serving_ca_spki_pin"],
                "--join-signing-pin", pins["join_signing_key_pin"],
                "--join-encryption-pin", pins["join_encryption_key_pin"]]
        token.chmod(0o440)
        code, _, err = join(*good)
        self.assertEqual(code, 2)
        self.assertIn("fsGroup", err)
        token.chmod(0o400)
        code, _, err = join(*good[:-1], pins["join_signing_key_pin"])
        self.assertEqual(code, 4, err)
        self.assertIn("--join-encryption-pin", err)
        code, _, err = join(*good[:-2])
        self.assertEqual(code, 2, err)
        self.assertFalse((etc / "config.toml").exists())
        self.assertTrue(token.exists())

        code, out, err = join(*good)
        self.assertEqual(code, 0, err)
        self.assertFalse(token.exists())
        for name, mode in (("config.toml", 0o600),
                           ("join-encryption.jwk", 0o644)):
            self.assertEqual(stat.S_IMODE((etc / name).stat().st_mode), mode)
        self.assertIn(pins["serving_ca_spki_pin"],
                      (etc / "config.toml").read_text())
        done = subprocess.run(
            [self.programs / "bcd", "doctor", "--config", etc / "config.toml"],
            capture_output=True, text=True, timeout=WAIT)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, r"ok +identity +node_")

        # What is given beside the configuration must be the same.
        code, out, err = join(*good)
        self.assertEqual((code, "already joined" in out), (0, True), err)
        for flag, field in (("--site", "site"),
                            ("--serving-ca-pin", "serving_ca_spki_pin"),
                            ("--join-signing-pin", "join_signing_key_pin"),
                            ("--join-encryption-pin",
                             "join_encryption_key_pin")):
            value = "site_01k5w000000000000000000001" if field == "site" \
                else "sha256/" + "A" * 43 + "="
            code, _, err = join(flag, value)
            self.assertEqual(code, 2, err)
            self.assertIn(f"{flag} is not the {field} of", err)

    def test_spent_token_is_deleted(self):
        """Also when the configuration cannot be written after the join."""
        control, machine = self.control, self.machine("m4")
        text = (control.data / "bcd" / "config.toml").read_text()
        pins = dict(re.findall(r'^(\w+_pin) = "(.*)"$', text, re.MULTILINE))
        # Where the new file would be written first.
        etc = machine.folder / "etc"
        etc.mkdir()
        (etc / "config.toml.tmp").mkdir()
        token = machine.folder / "token"
        token.write_text(control.token("spent")["token"] + "\n")
        token.chmod(0o600)
        done = subprocess.run(
            [self.programs / "bcd-fakehw", "join", "--config",
             etc / "config.toml", "--data-dir", machine.folder / "data",
             "--fake-hardware", machine.folder / "hardware.json",
             "--server", control.url, "--token-file", token,
             "--site", control.site,
             "--serving-ca-pin", pins["serving_ca_spki_pin"],
             "--join-signing-pin", pins["join_signing_key_pin"],
             "--join-encryption-pin", pins["join_encryption_key_pin"]],
            capture_output=True, text=True, timeout=WAIT,
            stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 7, done.stdout + done.stderr)
        self.assertIn("joined as node_", done.stdout)
        self.assertFalse(token.exists())

    def test_token_stays_out_of_sight(self):
        """No trace of the token after a join from a file (case 170)."""
        machine = self.joined("m3")
        secret = re.compile(r"bcjt_jt_\w+\.[\w-]{43}")
        for path in machine.folder.rglob("*"):
            if path.is_file():
                self.assertIsNone(
                    secret.search(path.read_text(errors="replace")), path)
        done = subprocess.run(
            [self.programs / "bcd", "join", "--token-file",
             "bcjt_jt_01k5w000000000000000000000." + "x" * 43],
            capture_output=True, text=True, timeout=WAIT)
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("x" * 43, done.stdout + done.stderr)


class Binary(Case):
    def test_stands_on_glibc_alone(self):
        """bcd needs no shared library but glibc's."""
        shown = subprocess.run(
            ["readelf", "--dynamic", self.programs / "bcd"],
            capture_output=True, text=True, check=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", shown))
        if "libasan.so.8" in needed or "libtsan.so.2" in needed:
            self.skipTest("a build with sanitizers")
        self.assertLessEqual(
            needed, {"libc.so.6", "libm.so.6", "ld-linux-x86-64.so.2",
                     "ld-linux-aarch64.so.1"})


if __name__ == "__main__":
    main()
