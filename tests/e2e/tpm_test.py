"""A machine with a TPM nobody knows: it waits, is approved, renews by its TPM,
and after a clear comes back as the same node; with the real programs and a TPM
of software (attestor tpm; cases 14, 124)."""
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time

from harness import WAIT, Case, Program, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tpm"))
import raw_tpm  # noqa: E402

# What is left of the shortest lifetime once 5 minutes are taken off.
LIFE = 60
WRONG = "renewal failed: the TPM is unavailable or names another AK"


class Tpm(Case):
    def setUp(self):
        super().setUp()
        if not all(shutil.which(p) for p in
                   ("swtpm", "swtpm_setup", "swtpm_localca")):
            if os.environ.get("CI"):
                self.fail("swtpm is not installed")
            self.skipTest("swtpm is not installed")
        # A minute is left of each certificate.
        self.control = self.dev("--certificate-lifetime", "6m")
        self.tpm = raw_tpm.SoftwareTpm(self.folder / "tpm",
                                       raw_tpm.two_free_ports())
        self.addCleanup(self.tpm.stop)
        self.tpm.connect().close()  # once it listens
        self.box = self.machine("m1")
        given = self.control.data / "bcd"
        self.config = self.folder / "config.toml"
        shutil.copy(given / "join-encryption.jwk", self.folder)
        self.config.write_text(
            (given / "config.toml").read_text() +
            f'\n[tpm]\nenabled = "true"\n'
            f'tcti = "swtpm:host=127.0.0.1,port={self.tpm.port}"\n')
        self.config.chmod(0o600)

    def bcd(self, command, *options):
        hardware = [] if command == "doctor" else \
            ["--fake-hardware", self.box.folder / "hardware.json"]
        return [self.programs / "bcd-fakehw", command, "--config", self.config,
                "--data-dir", self.box.folder / "data", *hardware, *options]

    def run_bcd(self, *arguments):
        return subprocess.run(self.bcd(*arguments), text=True,
                              capture_output=True, timeout=WAIT)

    def start(self, *arguments):
        program = Program(self.bcd(*arguments))
        self.addCleanup(program.kill)
        return program

    def identity(self):
        return json.loads((self.box.folder / "data" /
                           "identity.json").read_text())

    def named_ak(self):
        done = subprocess.run(
            ["openssl", "x509", "-noout", "-ext", "subjectAltName"],
            input=self.identity()["certificateChain"][0], text=True,
            capture_output=True, check=True)
        return re.search(r"urn:bc:tpm-ak:sha256:[0-9a-f]{64}",
                         done.stdout).group(0)

    def checks(self):
        done = self.run_bcd("doctor", "--output", "json")
        return {c["check"]: c for c in json.loads(done.stdout)["checks"]}

    def approve(self, request):
        self.control.cli("join-requests", "approve", request, "--pool",
                         self.control.pool, "--ttl", "600", "--reason",
                         "of a test")

    def join(self, *options):
        """Joins through a request that is approved while it waits; the name of
        the node."""
        joining = self.start("join", "--attestor", "tpm", *options)
        request = joining.wait_for(r"request (jreq_\w+)").group(1)
        self.approve(request)
        name = joining.wait_for(r"joined as (node_\w+)").group(1)
        self.assertEqual(joining.process.wait(timeout=10), 0)
        return name

    def test_tpm(self):
        # Unknown: it says which request waits, and ends where told to.
        first = self.run_bcd("join", "--attestor", "tpm", "--no-wait")
        self.assertEqual(first.returncode, 1, first.stderr)
        self.assertIn("a person must approve", first.stderr)
        request = re.search(r"jreq_\w+", first.stderr).group(0)
        csr = re.search(r"CSR ([0-9a-f]{16})", first.stderr).group(1)
        # The same request, by another process.
        second = self.run_bcd("join", "--attestor", "tpm", "--no-wait")
        self.assertIn(request, second.stderr)
        self.assertIn(csr, second.stderr)
        self.approve(request)
        done = self.run_bcd("join", "--attestor", "tpm", "--no-wait")
        self.assertEqual(done.returncode, 0, done.stderr)
        name = re.search(r"joined as (node_\w+)", done.stdout).group(1)
        self.assertEqual(self.identity()["attestor"], "tpm")
        self.assertEqual(self.identity()["ekKind"], "rsa-2048")
        self.assertIn("BEGIN TSS2 PRIVATE KEY",
                      (self.box.folder / "data" / "node.key").read_text())
        joined = self.control.events("node.joined")[-1]["data"]
        self.assertEqual((joined["attestor"], joined["nodeKey"]),
                         ("tpm", "tpm"))
        ak = self.named_ak()

        # Its session and its renewals are by the TPM, with its word.
        node = self.start("node")
        node.wait_for("connected to the gateway")
        node.wait_for("renewed; the certificate expires at")
        self.assertEqual(self.named_ak(), ak)
        checks = self.checks()
        for check in ("tpm", "tpm-ek", "tpm-ak"):
            self.assertEqual(checks[check]["status"], "ok", checks[check])

        # Away: loud, and mended by itself.
        self.tpm.stop()
        node.wait_for(WRONG)
        self.assertEqual(self.checks()["tpm"]["status"], "failed")
        self.tpm.start()
        node.lines.clear()
        node.wait_for("renewed; the certificate expires at")

        # Cleared: loud again, and only a person can help.
        tpm = self.tpm.connect()
        tpm.clear()
        tpm.close()
        node.lines.clear()
        node.wait_for(WRONG)
        check = self.checks()["tpm-ak"]
        self.assertEqual(check["status"], "failed")
        self.assertIn("--reset --yes --attestor tpm", check["advice"])
        node.process.send_signal(signal.SIGTERM)
        self.assertEqual(node.process.wait(timeout=10), 0)
        done = self.run_bcd("join", "--reset", "--yes", "--attestor", "tpm")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        # The EK is the same, and so is the node; nobody was asked.
        self.assertIn(f"joined as {name}", done.stdout)
        self.assertNotEqual(self.named_ak(), ak)
        joined = self.control.events("node.joined")[-1]["data"]
        self.assertTrue(joined["reclaim"])
        node = self.start("node")
        node.wait_for("connected to the gateway")

    def test_comes_back_by_its_tpm(self):
        """Off until its certificate was over, by which the pool takes nobody
        back (case 108)."""
        name = self.join()
        self.control.cli("pools", "update", self.control.pool,
                         "--join-attestor", "tpm")
        before = self.control.json("nodes", "get", name)
        ak = self.named_ak()
        time.sleep(LIFE + 5)
        node = self.start("node")
        node.wait_for("joining again by it")
        node.wait_for("joined again by the TPM")
        node.wait_for("connected to the gateway")
        after = self.control.json("nodes", "get", name)
        self.assertEqual(after["attestor"], "tpm")
        self.assertEqual(after["identityGeneration"],
                         before["identityGeneration"] + 1)
        self.assertEqual(self.named_ak(), ak)
        self.assertEqual(self.identity()["ekKind"], "rsa-2048")
        # The certificate was asked first, and refused.
        self.assertTrue(
            [e for e in self.control.events("security.join.refused")
             if e["data"]["attestor"] == "x509pop"])

    def test_helper(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root, to become another user")
        self.folder.chmod(0o755)
        shutil.copy(self.programs / "bcd-fakehw", self.folder)
        self.config.write_text(self.config.read_text() + "[helper]\n"
                               'user = "nobody"\n'
                               f'socket = "{self.folder}/helper.sock"\n')
        self.config.chmod(0o644)
        nobody = pwd.getpwnam("nobody").pw_uid

        # What is root's to read of the hardware.
        hardware = self.box.folder / "hardware.json"
        hardware.chmod(0o600)

        def start_helper():
            helper = Program([self.programs / "bcd-fakehw", "helper",
                              "--config", self.config, "--fake-hardware",
                              hardware])
            self.addCleanup(helper.kill)
            helper.wait_for("holds the TPM for nobody")
            return helper

        helper = start_helper()
        # A join is root's, with the TPM itself; what it leaves is the user's.
        self.join()
        data = self.box.folder / "data"
        for file in (data, data / "identity.json", data / "node.key"):
            self.assertEqual(file.stat().st_uid, nobody, file)

        def start_node():
            node = Program(
                ["setpriv", f"--reuid={nobody}", f"--regid={nobody}",
                 "--clear-groups", self.folder / "bcd-fakehw",
                 *self.bcd("node")[1:]])
            self.addCleanup(node.kill)
            return node

        node = start_node()
        node.wait_for("connected to the gateway")
        node.wait_for("renewed; the certificate expires at")
        helper.process.send_signal(signal.SIGTERM)
        self.assertEqual(helper.process.wait(timeout=10), 0)
        node.wait_for(WRONG + ".*bcd-helper")
        start_helper()
        node.lines.clear()
        node.wait_for("renewed; the certificate expires at")
        self.assertEqual((data / "node.key").stat().st_uid, nobody)
        node.process.send_signal(signal.SIGTERM)
        self.assertEqual(node.process.wait(timeout=10), 0)
        # Off until it was over, it comes back on the hardware that the helper
        # reads: all of it, or not at all.
        time.sleep(LIFE + 5)
        text = hardware.read_text()
        hardware.write_text("torn")
        node = start_node()
        node.wait_for("joining again failed: the hardware file")
        self.assertEqual(self.checks()["tpm-helper"]["status"], "warning")
        hardware.write_text(text)
        node.wait_for("joined again by the expired certificate")
        node.wait_for("connected to the gateway")
        self.assertEqual((data / "node.key").stat().st_uid, nobody)
        node.process.send_signal(signal.SIGTERM)
        self.assertEqual(node.process.wait(timeout=10), 0)
        # By its certificate, for a person: the folder is the user's again.
        done = self.run_bcd("join", "--attestor", "x509pop")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for file in (data, data / "identity.json", data / "node.key"):
            self.assertEqual(file.stat().st_uid, nobody, file)
        self.assertEqual(self.checks()["tpm-helper"]["status"], "ok")
        # Joined already, it says so beside what is the user's, and it stays so.
        done = self.run_bcd("join", "--attestor", "tpm")
        self.assertIn("already joined", done.stdout)
        self.assertEqual(data.stat().st_uid, nobody)

    def test_waits_for_a_person(self):
        name = self.join()
        self.assertEqual(self.control.json("nodes", "get", name)["attestor"],
                         "tpm")


if __name__ == "__main__":
    main()
