"""dev: its folder, its ends, and what it tells its user."""
import fcntl
import json
import os
import signal
import stat
import subprocess
import urllib.parse

from harness import Case, Dev, main, new_hardware


class DevLife(Case):
    def once(self, *options, **keywords):
        return subprocess.run(
            [self.programs / "better-compute", "dev", "--once", "--data",
             self.folder / "data", "--api-port", "0", "--gateway-port", "0",
             *options], capture_output=True, text=True, timeout=60, **keywords)

    def test_once_tells_a_failure(self):
        """A machine that did not join is exit code 1, and why is printed."""
        self.assertEqual(self.once("--sim", "1").returncode, 0)
        credential = self.folder / "data" / "root-credential"
        credential.write_text("cred_x.y\n")
        done = self.once("--sim", "2")
        self.assertEqual(done.returncode, 1)
        self.assertIn("UNAUTHENTICATED", done.stderr)
        self.assertIn("sim-1: already joined", done.stdout)

    def test_once_cut_short(self):
        """Ctrl-C before all joined: an orderly stop, but no success."""
        dev = self.dev("--sim", "1000", "--once")
        dev.wait_for("joined as")
        dev.process.send_signal(signal.SIGINT)
        self.assertEqual(dev.process.wait(timeout=10), 1)
        dev.wait_for("^Stopping$")

    def test_data_folder(self):
        """Whose it is, who may enter it, and what is missing in it."""
        data = self.folder / "data"
        data.mkdir(mode=0o755)
        data.chmod(0o755)
        self.assertEqual(self.once().returncode, 0)
        self.assertEqual(stat.S_IMODE(data.stat().st_mode), 0o700)
        data.chmod(0o777)
        done = self.once()
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"chmod 700 {data}", done.stderr)
        data.chmod(0o700)
        if os.geteuid() == 0:
            os.chown(data, 65534, -1)
            self.assertIn("another user", self.once().stderr)
            os.chown(data, 0, -1)
        kept = (data / "secret").rename(self.folder / "kept")
        done = self.once()
        self.assertEqual(done.returncode, 1)
        self.assertIn("secret is missing", done.stderr)
        self.assertFalse((data / "secret").exists())
        (data / "secret").write_text("another secret, long enough\n")
        (data / "secret").chmod(0o600)
        done = self.once()
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{data}/secret does not open the keys", done.stderr)
        kept.rename(data / "secret")
        self.assertEqual(self.once("--sim", "1").returncode, 0)

    def test_lost_credential(self):
        """The root credential's file is gone: the next start makes another."""
        dev = self.dev()
        old = (dev.data / "root-credential").read_text()
        dev.stop()
        (dev.data / "root-credential").unlink()
        dev = self.dev("--sim", "1")
        dev.wait_for("sim-1: joined as")
        new = dev.data / "root-credential"
        self.assertEqual(stat.S_IMODE(new.stat().st_mode), 0o600)
        self.assertNotEqual(new.read_text(), old)
        self.assertEqual(len(dev.json("nodes", "list")["items"]), 1)
        self.assertEqual(sorted(p.name for p in dev.data.iterdir()
                                if "credential" in p.name),
                         ["root-credential"])

    def test_commands_to_paste(self):
        """What dev prints works in a shell in another folder."""
        here = self.folder / "it's here"
        here.mkdir()
        dev = Dev(self.programs, "my data", cwd=here)
        self.running.append(dev)
        dev.wait_for("Ctrl-C stops")
        first = dev.lines.index("Try in another terminal:")
        commands = [line for line in dev.lines[first + 1:]
                    if line.startswith("  ") and "--follow" not in line]
        self.assertEqual(len(commands), 6, commands)
        # The made-up machine in place of this one.
        commands[-1] = commands[-1].replace("sudo ", "").replace(
            "bcd join", "bcd-fakehw join --fake-hardware hardware.json")
        (self.folder / "hardware.json").write_text(
            json.dumps(new_hardware()))
        done = subprocess.run(["sh", "-e"], input="\n".join(commands),
                              cwd=self.folder, capture_output=True, text=True,
                              timeout=60)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("joined as", done.stdout)

    def test_paused_terminal(self):
        """Output that nobody reads holds up no join and no stop."""
        process = subprocess.Popen(
            [self.programs / "better-compute", "dev", "--sim", "150", "--data",
             self.folder / "d", "--api-port", "0",
             "--gateway-port", "0"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            fcntl.fcntl(process.stdout, fcntl.F_SETPIPE_SZ, 4096)
            machines = self.folder / "d" / "machines"
            self.wait_until(lambda: len(list(
                machines.glob("*/identity.json"))) == 150)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=10), 0)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def test_default_folder(self):
        """As ops/run starts it: no --data, a folder beside the caller."""
        done = subprocess.run(
            [self.programs / "better-compute", "dev", "--sim", "1", "--once",
             "--api-port", "0", "--gateway-port", "0"],
            capture_output=True, text=True, timeout=60, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue((self.folder / ".dev" / "journal.db").exists())

    def test_once(self):
        """dev --once ends by itself, and again on the same store."""
        for _ in range(2):
            done = subprocess.run(
                [self.programs / "better-compute", "dev", "--sim", "2", "--once",
                 "--data", self.folder / "data", "--api-port", "0",
                 "--gateway-port", "0"],
                capture_output=True, text=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_checkpoints(self):
        """They are kept in a file of their own, and no line that is shown."""
        dev = self.dev()
        kept = dev.data / "checkpoints.log"
        self.wait_until(lambda: kept.exists() and kept.read_text())
        dev.stop()
        dev.wait_for("^Stopping$")
        self.assertFalse([line for line in dev.lines if "checkpoint" in line])
        verified = subprocess.run(
            [self.programs / "better-compute", "journal", "verify", "--store",
             f"sqlite:{dev.data}/journal.db", "--checkpoint", kept],
            env={**os.environ,
                 "BETTER_COMPUTE_SECRET_FILE": f"{dev.data}/secret"},
            capture_output=True, text=True, timeout=60)
        self.assertEqual(verified.returncode, 0,
                         verified.stdout + verified.stderr)

    def test_second_process_and_busy_port(self):
        dev = self.dev()
        port = urllib.parse.urlparse(dev.url).port
        command = [self.programs / "better-compute", "dev", "--once",
                   "--gateway-port", "0"]
        second = subprocess.run(
            [*command, "--data", dev.data, "--api-port", "0"],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(second.returncode, 1)
        self.assertIn("INVALID_STATE", second.stderr)
        self.assertIn(str(dev.process.pid), second.stderr)
        busy = subprocess.run(
            [*command, "--data", self.folder / "other", "--api-port",
             str(port)], capture_output=True, text=True, timeout=60)
        self.assertEqual(busy.returncode, 1)
        self.assertIn("--api-port", busy.stderr)

    def test_damaged_store(self):
        dev = self.dev()
        dev.stop()
        store = dev.data / "journal.db"
        store.write_bytes(b"not a database, but long enough" * 400)
        done = subprocess.run(
            [self.programs / "better-compute", "dev", "--once", "--data",
             dev.data, "--api-port", "0", "--gateway-port", "0"],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 1)
        self.assertIn("journal.db", done.stderr)


if __name__ == "__main__":
    main()
