"""Starts the real programs for end-to-end tests."""
import argparse
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid

WAIT = 120


class Program:
    """A program that runs until stop(); what it prints is read."""

    def __init__(self, command, env=None, cwd=None, log=None):
        self.lines = []
        self._queue = queue.Queue()
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE,
            stderr=log or subprocess.STDOUT, text=True,
            env=dict(os.environ, **(env or {})), cwd=cwd)
        # Its own, should the program be started again.
        threading.Thread(target=self._read, daemon=True,
                         args=(self.process.stdout, self._queue)).start()

    @staticmethod
    def _read(lines, to):
        for line in lines:
            to.put(line.rstrip("\n"))
        to.put(None)
        lines.close()

    def wait_for(self, pattern):
        """The first match of a line, past or to come."""
        for line in self.lines:
            if match := re.search(pattern, line):
                return match
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            try:
                line = self._queue.get(timeout=1)
            except queue.Empty:
                continue
            if line is None:
                break
            self.lines.append(line)
            if match := re.search(pattern, line):
                return match
        raise AssertionError(f"no line like {pattern!r} in:\n" +
                             "\n".join(self.lines))

    def kill(self):
        self.process.kill()
        self.process.wait()


class Dev(Program):
    """`better-compute dev` in a folder, until stop()."""

    def __init__(self, programs, data, *options, env=None, cwd=None):
        self.programs = pathlib.Path(programs)
        self.data = pathlib.Path(data)
        super().__init__(
            [self.programs / "better-compute", "dev", "--data", self.data,
             "--api-port", "0", "--gateway-port", "0", *options],
            env=env, cwd=cwd)
        ready = self.wait_for(r"Ready: API (\S+), gateway (\S+)")
        self.url, self.gateway = ready.group(1), ready.group(2)
        text = "\n".join(self.lines)
        self.tenant = re.search(r"tenant\s+(ten_\w+)", text).group(1)
        self.pool = re.search(r"pool\s+(pool_\w+)", text).group(1)
        self.site = re.search(r"site\s+(site_\w+)", text).group(1)

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        code = self.process.wait(timeout=10)
        assert code == 0, f"dev ended with {code}"

    def cli(self, *arguments, code=0):
        """Runs better-compute; its standard output, or its error text when
        another exit code is expected."""
        env = dict(os.environ, BETTER_COMPUTE_URL=self.url,
                   BETTER_COMPUTE_CREDENTIAL_FILE=str(
                       self.data / "root-credential"),
                   BETTER_COMPUTE_TENANT=self.tenant)
        done = subprocess.run(
            [self.programs / "better-compute", *arguments], env=env,
            capture_output=True, text=True, timeout=WAIT)
        assert done.returncode == code, \
            f"{arguments}: exit {done.returncode}\n{done.stdout}{done.stderr}"
        return done.stdout if code == 0 else done.stderr

    def json(self, *arguments):
        return json.loads(self.cli(*arguments, "--output", "json"))

    def token(self, key, *options):
        return self.json("join-tokens", "create", "--pool", self.pool,
                         "--ttl", "10m", "--key", key, *options)

    def issue(self, role, folder, *options, pool=None, ttl="10m", code=0):
        """What `join-tokens issue` says, on the store of a dev that is
        stopped."""
        done = self.cli("join-tokens", "issue", "--role", role, "--pool",
                        pool or self.pool, "--ttl", ttl, "--store",
                        f"sqlite:{self.data / 'journal.db'}", "--secrets-dir",
                        str(folder), "--output", "json", *options, code=code)
        return json.loads(done) if code == 0 else done

    def events(self, kind):
        text = self.cli("events", "list", "--type", kind, "--output", "json")
        return [json.loads(line) for line in text.splitlines()]


class Machine:
    """A made-up machine with a data folder of its own."""

    def __init__(self, folder, hardware=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.hardware = hardware or new_hardware()
        (self.folder / "hardware.json").write_text(json.dumps(self.hardware))

    def start_join(self, dev, token, env=None, options=()):
        process = subprocess.Popen(
            [dev.programs / "bcd-fakehw", "join", "--config",
             dev.data / "bcd" / "config.toml", "--data-dir",
             self.folder / "data", "--fake-hardware",
             self.folder / "hardware.json", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, **(env or {})))
        try:
            process.stdin.write(token)
            process.stdin.close()
        except BrokenPipeError:
            pass  # it had enough of what it was told before the token
        process.stdin = None
        return process

    def join(self, dev, token, env=None, options=()):
        process = self.start_join(dev, token, env, options)
        out, err = process.communicate(timeout=WAIT)
        return process.returncode, out, err


def new_hardware():
    seed = uuid.uuid4()
    tail = seed.hex[-6:]
    return {
        "productUuid": str(seed),
        "productSerial": "E2E" + seed.hex[:10].upper(),
        "macs": [f"3c:ec:ef:{tail[0:2]}:{tail[2:4]}:{tail[4:6]}"],
        "hostname": "e2e-" + seed.hex[:6],
    }


class Case(unittest.TestCase):
    """A folder, and what runs in it, both gone at the end."""
    programs = None

    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="e2e-")
        self.folder = pathlib.Path(self._folder.name)
        self.running = []

    def tearDown(self):
        for dev in self.running:
            if dev.process.poll() is None:
                dev.kill()
        self._folder.cleanup()

    def dev(self, *options, env=None):
        dev = Dev(self.programs, self.folder / "data", *options, env=env)
        self.running.append(dev)
        return dev

    def machine(self, name, hardware=None):
        return Machine(self.folder / name, hardware)

    def wait_until(self, condition):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.1)
        self.fail("it did not come true")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    Case.programs = options.bin.resolve()
    os.environ.pop("BCD_JOIN_TOKEN", None)
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
