"""Public events of a deployment in Kafka (spec: DESIGN section 6; the field
cases 151, 153)."""
import json
import os
import subprocess
import time

from crowd import Crowd
from deployment import ROOT, wait_until

# How long Kafka is down; BC_LONG=1: as long as the field case says.
OUTAGE_SECONDS = 60 if os.environ.get("BC_LONG") == "1" else 12


class KafkaCases:
    """A part of ServeTest."""

    def test_events_arrive_in_kafka(self):
        """The events of joins, across a publisher that is killed (case
        153)."""
        kafka = self.start_kafka()
        self.deploy("--kafka-brokers", kafka)
        gateway = self.gateway("gw", self.api1, self.api2)
        token = self.d.token(self.api1, "crowd", 10_000)
        crowd = Crowd(self.folder, gateway, token["token"], threads=2)
        try:
            self.let_join(crowd)
            holder = self.holder()
            holder.kill()
            self.let_join(crowd)
            holder.start()
        finally:
            crowd.stop()
        self.check_all_there(crowd, token)
        self.check_kafka(kafka, crowd)

    def test_kafka_is_down_for_a_while(self):
        """Joins go on while Kafka is down (for a minute with BC_LONG=1), the
        servers stay ready, the lag grows and is told, and all arrives once
        Kafka is back (case 151)."""
        kafka = self.start_kafka()
        self.deploy("--kafka-brokers", kafka)
        gateway = self.gateway("gw", self.api1, self.api2)
        token = self.d.token(self.api1, "crowd", 10_000)
        crowd = Crowd(self.folder, gateway, token["token"], threads=2)
        try:
            self.let_join(crowd)
            wait_until(lambda: self.sent() > 0, "Kafka has some", limit=180)
            self.kafka("kill", "1")
            before, until = crowd.count(), time.monotonic() + OUTAGE_SECONDS
            while time.monotonic() < until:
                for api in (self.api1, self.api2):
                    self.assertTrue(api.is_ready(), f"{api.name} is not ready")
                time.sleep(0.5)
            self.let_join(crowd)
            self.assertGreater(crowd.count(), before)
            wait_until(lambda: (self.lag() or 0) > 0, "the lag is told")
            self.kafka("restart", "1")
            self.let_join(crowd)
        finally:
            crowd.stop()
        self.check_all_there(crowd, token)
        self.check_kafka(kafka, crowd)

    def lag(self):
        return self.holder().metric("better_compute_publisher_lag_events")

    def sent(self):
        """The position that Kafka is at, 0 while that is not known."""
        return self.holder().metric("better_compute_publisher_position") or 0

    def check_kafka(self, kafka, crowd):
        # A publisher that does not know yet how far Kafka is lags nothing.
        wait_until(lambda: self.sent() > 0 and self.lag() == 0,
                   "all is in Kafka", limit=180)
        for api in (self.api1, self.api2):
            self.assertTrue(api.is_ready())
        report = json.loads(self.d.tool(
            "events", "verify", "--store", self.d.store, "--kafka-brokers",
            kafka, "--output", "json"))
        self.assertEqual(report["faults"], 0, report)
        self.assertEqual(report["read"], report["expected"])
        self.assertGreaterEqual(report["read"], 2 * crowd.count())

    def kafka(self, what, *options):
        subprocess.run([ROOT / "ops" / "kafka", what, self.folder / "kafka",
                        *options], check=True, stdout=subprocess.DEVNULL)

    def start_kafka(self):
        folder = self.folder / "kafka"
        tool = ROOT / "ops" / "kafka"
        done = subprocess.run([tool, "start", folder], capture_output=True,
                              text=True)
        if done.returncode == 3:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.addCleanup(subprocess.run, [tool, "stop", folder])
        return done.stdout.strip().splitlines()[-1]
