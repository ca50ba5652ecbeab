"""A Kafka of the tests' own, the publisher's driver, and kcat: a Kafka client
that shares no code of ours."""
import collections
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WAIT = 150


class NoKafka(Exception):
    pass


class Kafka:
    """Brokers by ops/kafka; None of it is left behind."""

    def __init__(self, nodes):
        base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="bc-kafka-", dir=base)
        # Everything is allowed until a test denies it.
        rules = ["authorizer.class.name=org.apache.kafka.metadata.authorizer."
                 "StandardAuthorizer", "allow.everyone.if.no.acl.found=true"]
        done = self._run("start", self.folder, str(nodes),
                         *(rules if nodes == 1 else ()), check=False)
        if done.returncode == 3:
            shutil.rmtree(self.folder)
            raise NoKafka(done.stderr.strip())
        if done.returncode:
            shutil.rmtree(self.folder)
            raise AssertionError(done.stderr)
        self.brokers = done.stdout.strip()

    def _run(self, *arguments, check=True):
        done = subprocess.run([ROOT / "ops/kafka", *arguments],
                              capture_output=True, text=True, timeout=400)
        if check and done.returncode:
            raise AssertionError(done.stderr)
        return done

    def kill(self, node=1):
        self._run("kill", self.folder, str(node))

    def pause(self, node=1):
        self._run("pause", self.folder, str(node))

    def restart(self, node=1):
        self._run("restart", self.folder, str(node))

    def stop(self):
        self._run("stop", self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)


class Driver:
    """tests/kafka/publisher_driver.cpp over one store."""
    program = None

    def __init__(self, store, *options, faults=""):
        self.process = subprocess.Popen(
            [self.program, "--store", str(store), *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True,
            env=dict(os.environ, BC_FAULTS=faults))

    def send(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def receive(self):
        if not select.select([self.process.stdout], [], [], WAIT)[0]:
            raise AssertionError(f"the driver does not answer in {WAIT} s")
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(
                f"the driver ended with {self.process.wait(WAIT)}: "
                + self.process.stderr.read())
        return json.loads(line)

    def ask(self, command):
        self.send(command)
        return self.receive()

    def published(self, position, number=0):
        """Waits until the publisher is there; its statistics."""
        stats = self.ask(f"wait {number} {position}")
        assert stats["position"] >= position, stats
        return stats

    def ended(self):
        """The exit code, when a fault ends it."""
        return self.process.wait(WAIT)

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            code = self.process.wait(WAIT)
            assert code == 0, self.process.stderr.read()
        for pipe in (self.process.stdin, self.process.stdout,
                     self.process.stderr):
            pipe.close()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout,
                     self.process.stderr):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


Message = collections.namedtuple(
    "Message", "topic partition offset key headers value")


def kcat_lines(brokers, topic, *options):
    done = subprocess.run(
        ["kcat", "-C", "-b", brokers, "-t", topic, "-o", "beginning", "-e",
         "-q", "-J", "-X", "isolation.level=read_committed", *options],
        capture_output=True, text=True, timeout=WAIT)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def consume(brokers, topic):
    """What a subscriber sees of a topic."""
    out = []
    for line in kcat_lines(brokers, topic):
        m = json.loads(line)
        headers = m.get("headers") or []
        out.append(Message(m["topic"], m["partition"], m["offset"], m["key"],
                           dict(zip(headers[::2], headers[1::2])),
                           m["payload"]))
    return out


def produce(brokers, topic, key, value, headers=None, partition=None,
            lines=False):
    """One message; with `lines` one for each line of the value."""
    command = ["kcat", "-P", "-b", brokers, "-t", topic, "-k", key, "-q",
               "-X", "partitioner=murmur2_random"]
    command += [] if lines else ["-D", "\x01"]
    for name, text in (headers or {}).items():
        command += ["-H", f"{name}={text}"]
    if partition is not None:
        command += ["-p", str(partition)]
    subprocess.run(command, input=value, check=True, capture_output=True,
                   text=True, timeout=WAIT)


def wait_until(condition):
    deadline = time.monotonic() + WAIT
    while not condition():
        assert time.monotonic() < deadline, "it did not come true"
        time.sleep(0.1)
