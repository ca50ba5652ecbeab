"""What the tests against Kafka share."""
import collections
import json
import pathlib
import shutil
import tempfile
import unittest

from harness import Driver, Kafka, consume

LONG = False
CLUSTERS = {}


def cluster(nodes):
    """One for all tests that want so many brokers."""
    if nodes not in CLUSTERS:
        CLUSTERS[nodes] = Kafka(nodes)
    return CLUSTERS[nodes]


class Case(unittest.TestCase):
    """A folder, a topic prefix, and drivers that are gone at the end."""
    nodes = 1
    kafka = None

    @classmethod
    def setUpClass(cls):
        cls.kafka = cluster(cls.nodes)
        cls.brokers = cls.kafka.brokers

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="kafka-test-"))
        self.prefix = self.id().rpartition(".")[2].replace("_", "-")[:60]
        self.drivers = []

    def tearDown(self):
        for driver in self.drivers:
            driver.kill()
        shutil.rmtree(self.folder)

    def driver(self, *options, store="store.db", faults=""):
        driver = Driver(self.folder / store, "--brokers", self.brokers,
                        "--prefix", self.prefix, "--partitions", "3",
                        *options, faults=faults)
        self.drivers.append(driver)
        return driver

    def events(self, prefix=None):
        return consume(self.brokers, f"{prefix or self.prefix}.events")

    def check(self, driver, messages, but=()):
        """Each public event once, whole, at its place; `but` these ids."""
        expected = {e["id"]: e for e in driver.ask("list")["events"]}
        got = collections.Counter(m.headers["ce_id"] for m in messages)
        self.assertEqual({i: n for i, n in got.items() if n > 1}, {})
        self.assertEqual(set(expected) - set(got), set(but))
        self.assertEqual(set(got) - set(expected), set())
        self.check_order(messages)
        home = {}
        for m in messages:
            e = dict(expected[m.headers["ce_id"]])
            self.assertEqual(json.loads(m.value), e.pop("data"))
            self.assertEqual(m.key, e["tenantid"])
            self.assertEqual(home.setdefault((m.topic, m.key), m.partition),
                             m.partition)
            wanted = {"ce_" + name: value for name, value in e.items()}
            wanted["content-type"] = "application/json"
            self.assertEqual(m.headers, wanted)

    def check_order(self, messages):
        last = {}
        for m in messages:
            place = (m.topic, m.partition, m.key)
            self.assertGreater(m.headers["ce_sequence"], last.get(place, ""))
            last[place] = m.headers["ce_sequence"]
