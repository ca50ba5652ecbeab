"""Several processes, several brokers; and librdkafka's mock of some."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import cases
from harness import ROOT, Driver, consume, wait_until


class Processes(cases.Case):
    """Several processes on one Postgres, each with a publisher; one lease."""

    def setUp(self):
        super().setUp()
        self.postgres = tempfile.mkdtemp(prefix="bc-pg-", dir="/tmp")
        done = subprocess.run([ROOT / "ops/postgres", "start", self.postgres],
                              capture_output=True, text=True, check=True)
        self.url = done.stdout.strip()
        self.processes = [self.process() for _ in range(3)]

    def tearDown(self):
        super().tearDown()
        subprocess.run([ROOT / "ops/postgres", "stop", self.postgres,
                        "immediate"], capture_output=True)
        shutil.rmtree(self.postgres)

    def process(self):
        d = Driver(self.url, "--brokers", self.brokers, "--prefix",
                   self.prefix, "--partitions", "3", "--max-events", "40",
                   "--property", "transaction.timeout.ms=5000")
        self.drivers.append(d)
        d.ask("start 0 lease")
        return d

    def holder(self, among):
        """The one that publishes, when one does."""
        found = []
        wait_until(lambda: found.extend(
            d for d in among if d.ask("stats 0")["state"] == "running")
            or found)
        return found[0]

    def append(self, count, by):
        for d in by:
            d.send(f"append {count} 5 5")
        return max(d.receive()["head"] for d in by)

    def test_the_publishing_process_is_killed(self):
        """Case 153: three replicas, one copy of each event."""
        first = self.holder(self.processes)
        head = self.append(200, self.processes)
        first.published(head)
        others = [d for d in self.processes if d is not first]
        for d in others:
            self.assertEqual(d.ask("stats 0")["published"], 0)
        first.send("append 400 5 5")
        first.kill()
        self.append(200, others)
        head = self.append(1, others)
        second = self.holder(others)
        second.published(head)
        self.check(second, self.events())
        self.assertEqual(second.ask("verify")["faults"], 0)

    def test_the_publishing_process_is_frozen_and_wakes(self):
        """Case 150: another took over meanwhile; the one that wakes is fenced
        and waits."""
        first = self.holder(self.processes)
        self.append(200, self.processes)
        os.kill(first.process.pid, signal.SIGSTOP)
        others = [d for d in self.processes if d is not first]
        head = self.append(100, others)
        second = self.holder(others)
        second.published(head)
        os.kill(first.process.pid, signal.SIGCONT)
        self.assertEqual(first.ask("wait-state 0 standby")["state"],
                         "standby")
        head = self.append(100, self.processes)
        second.published(head)
        self.check(second, self.events())


class ThreeBrokers(cases.Case):
    nodes = 3

    def leader(self, topic, partition):
        done = subprocess.run(["kcat", "-L", "-J", "-b", self.brokers, "-t",
                               topic], capture_output=True, text=True,
                              timeout=60, check=True)
        for part in json.loads(done.stdout)["topics"][0]["partitions"]:
            if part["partition"] == partition:
                return part["leader"]
        return -1

    def test_the_leader_of_a_partition_dies_again_and_again(self):
        """Case 149: no event lost, repeated or out of order."""
        rounds, each = (12, 800) if cases.LONG else (2, 300)
        d = self.driver("--max-events", "20")
        d.ask("append 100 7")
        d.ask("start 0 forced")
        d.published(60)
        for turn in range(rounds):
            node = self.leader(f"{self.prefix}.events", turn % 3)
            d.send(f"append {each} 7 50")
            time.sleep(0.5)
            if node > 0:
                self.kafka.kill(node)
            d.receive()
            if node > 0:
                self.kafka.restart(node)
        d.published(100 + rounds * each)
        self.check(d, self.events())
        self.assertEqual(d.ask("verify")["faults"], 0)
        d.close()


class Mock(unittest.TestCase):
    """What librdkafka's own mock of a cluster can show: it neither fences nor
    hides what was aborted, so exactly-once is not among it."""

    def run_mock(self, faults=""):
        with tempfile.TemporaryDirectory() as folder:
            d = Driver(pathlib.Path(folder) / "store.db", "--mock", "1",
                       "--prefix", "mock", "--partitions", "4",
                       "--max-events", "60", faults=faults)
            brokers = d.ask("brokers")["brokers"]
            d.ask("append 300 5")
            d.ask("start 0 forced")
            d.published(300)
            got = [m.headers["ce_id"] for m in consume(brokers, "mock.events")]
            wanted = [e["id"] for e in d.ask("list")["events"]]
            d.close()
            return got, wanted

    def test_published_and_read(self):
        got, wanted = self.run_mock()
        self.assertEqual(sorted(got), sorted(wanted))

    def test_at_least_once_through_unknown_outcomes(self):
        got, wanted = self.run_mock(
            "publisher.after-produce=error@2,publisher.before-commit=error@2,"
            "publisher.commit-sent=error@2,publisher.after-commit=error@2")
        self.assertEqual(set(got), set(wanted))
