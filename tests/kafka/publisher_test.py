#!/usr/bin/env python3
"""Public events in a real Kafka: each once, in order for each key, through
every kind of interruption (spec: DESIGN section 6; cases 149 to 156)."""
import argparse
import json
import os
import pathlib
import shutil
import signal
import sys
import time
import unittest

import cases
from cases import CLUSTERS, Case, cluster
from failover import Mock, Processes, ThreeBrokers  # noqa: F401
from harness import Driver, NoKafka, consume, produce, wait_until
from subscriber import Subscriber  # noqa: F401


class OneBroker(Case):
    def test_binary_mode_keys_and_partitions(self):
        d = self.driver()
        head = d.ask("append 700 9")["head"]
        d.ask("start 0 forced")
        stats = d.published(head)
        self.assertEqual(stats["state"], "running")
        self.assertEqual(stats["lagEvents"], 0)
        messages = self.events()
        self.check(d, messages)
        self.assertEqual(stats["published"], len(messages))
        # A client of another make puts a key where ours did.
        d.ask(f"topic {self.prefix}.others 3")
        for m in {m.key: m for m in messages}.values():
            produce(self.brokers, f"{self.prefix}.others", m.key, "x")
        theirs = consume(self.brokers, f"{self.prefix}.others")
        self.assertEqual({m.key: m.partition for m in theirs},
                         {m.key: m.partition for m in messages})
        self.assertEqual(d.ask("verify")["faults"], 0)
        d.close()

    def test_killed_at_every_point(self):
        """Case 151: whatever the moment, the next process goes on exactly."""
        for point in ("after-produce", "before-commit", "commit-sent",
                      "after-commit"):
            for nth in (1, 3):
                with self.subTest(point=point, nth=nth):
                    self.one_kill(point, nth)

    def one_kill(self, point, nth):
        self.prefix = f"kill-{point}-{nth}"
        d = self.driver("--max-events", "60", store=self.prefix,
                        faults=f"publisher.{point}=exit@{nth}")
        d.ask("append 300 5")
        d.ask("start 0 forced")
        self.assertEqual(d.ended(), 99)
        d = self.driver("--max-events", "60", store=self.prefix)
        d.ask("start 0 forced")
        head = d.ask("append 20 5")["head"]
        d.published(head)
        self.check(d, self.events())
        d.close()

    def test_an_unknown_outcome_is_looked_up(self):
        """Case 151: an answer lost at every point, within one process."""
        d = self.driver("--max-events", "60", faults=(
            "publisher.after-produce=error@1,publisher.before-commit=error@2,"
            "publisher.commit-sent=error@2,publisher.after-commit=error@2"))
        d.ask("append 500 5")
        d.ask("start 0 forced")
        stats = d.published(500)
        self.assertEqual(stats["sessions"], 5)
        self.check(d, self.events())
        d.close()

    def test_the_first_of_two_is_fenced(self):
        """Case 151: two that both believe they hold the lease."""
        d = self.driver("--max-events", "20")
        d.ask("append 200 5")
        d.ask("start 0 forced")
        d.published(20)
        d.ask("start 1 forced")
        d.ask("append 300 5 20")
        wait_until(lambda: d.ask("stats 0")["sessions"] +
                   d.ask("stats 1")["sessions"] > 2)
        # The lease decides: the first one stops and waits.
        d.ask("disown 0")
        self.assertEqual(d.ask("wait-state 0 standby")["state"], "standby")
        sessions = d.ask("stats 0")["sessions"]
        head = d.ask("append 100 5")["head"]
        d.published(head, number=1)
        self.assertEqual(d.ask("stats 0")["sessions"], sessions)
        self.check(d, self.events())
        d.close()

    def test_three_publishers_one_lease(self):
        """Case 153: replicas publish one copy, also when the holder goes."""
        d = self.driver("--max-events", "50")
        for number in range(3):
            d.ask(f"start {number} lease")
        d.ask("append 500 5")
        states = lambda: [d.ask(f"stats {n}")["state"] for n in range(3)]
        wait_until(lambda: "running" in states())
        holder = states().index("running")
        d.published(500, number=holder)
        self.assertEqual(sorted(states()), ["running", "standby", "standby"])
        d.ask(f"stop {holder}")
        head = d.ask("append 500 5")["head"]
        wait_until(lambda: "running" in states())
        d.published(head, number=states().index("running"))
        self.check(d, self.events())
        d.close()

    def test_the_broker_killed_and_down_while_appends_go_on(self):
        d = self.driver("--max-events", "20")
        d.ask("append 400 5")
        d.ask("start 0 forced")
        d.published(40)
        self.kafka.kill()
        head = d.ask("append 300 5")["head"]
        stats = d.ask("wait-state 0 retrying")
        self.assertEqual(stats["code"], "UNAVAILABLE")
        wait_until(lambda: d.ask("stats 0")["lagEvents"] >= 300)
        wait_until(lambda: d.ask("stats 0")["lagSeconds"] >= 1)
        self.kafka.restart()
        stats = d.published(head)
        self.assertNotIn("fault", stats)
        self.check(d, self.events())
        self.assertEqual(d.ask("verify")["faults"], 0)
        d.close()

    def test_frozen_beyond_the_time_limits(self):
        """Case 150: every event arrives after a freeze in mid-flight."""
        d = self.driver("--max-events", "10", "--property",
                        "transaction.timeout.ms=2000", "--property",
                        "message.timeout.ms=1500")
        d.ask("append 500 5")
        d.ask("start 0 forced")
        d.published(50)
        for _ in range(2):
            os.kill(d.process.pid, signal.SIGSTOP)
            time.sleep(4)
            os.kill(d.process.pid, signal.SIGCONT)
            d.ask("append 50 5")
        d.published(600)
        self.check(d, self.events())
        d.close()

    def test_a_topic_for_each_type(self):
        d = self.driver("--layout", "type")
        head = d.ask("append 300 5")["head"]
        d.ask("start 0 forced")
        d.published(head)
        of_type = {t: consume(self.brokers, t)
                   for t in ("node.adopted", "tenant.created", "node.joined")}
        for name, messages in of_type.items():
            self.assertEqual({m.headers["ce_type"] for m in messages},
                             {name} if messages else set())
        merged = [m for messages in of_type.values() for m in messages]
        self.check(d, merged)
        # Merged by sequence, a tenant's events stand as in the journal.
        merged.sort(key=lambda m: m.headers["ce_sequence"])
        self.assertEqual([m.headers["ce_id"] for m in merged],
                         [e["id"] for e in d.ask("list")["events"]])
        self.assertEqual(d.ask("verify")["faults"], 0)
        d.close()

    def test_an_event_too_large_is_parked_and_the_rest_arrives(self):
        """Case 152: by the client's limit, and by the broker's under it."""
        for limit in ("1000000", "8000000"):
            with self.subTest(limit=limit):
                self.prefix = f"large-{limit}"
                d = self.driver("--property", f"message.max.bytes={limit}",
                                store=self.prefix)
                d.ask("append 20 3")
                large = d.ask("big 1500000")["head"]
                head = d.ask("append 100 3")["head"]
                d.ask("start 0 forced")
                stats = d.published(head)
                self.assertEqual(stats["parked"], 1)
                inc = d.ask(f"hash {large}")["incarnation"]
                self.check(d, self.events(), but={f"{inc}-{large}"})
                parked, = consume(self.brokers, f"{self.prefix}.parked")
                self.assertEqual(json.loads(parked.value)["id"],
                                 f"{inc}-{large}")
                report = d.ask("verify")
                self.assertEqual((report["faults"], report["parked"]), (0, 1))
                d.close()

    def test_a_restored_journal_halts_until_an_operator_decides(self):
        d = self.driver()
        d.ask("append 60 3")
        d.ask("start 0 forced")
        d.published(60)
        d.close()
        shutil.copy(self.folder / "store.db", self.folder / "backup.db")
        d = self.driver()
        d.ask("append 40 3")
        d.ask("start 0 forced")
        d.published(100)
        old = {e["id"] for e in d.ask("list")["events"]}
        d.close()

        d = self.driver(store="backup.db")
        d.ask("start 0 forced")
        stats = d.ask("wait-state 0 halted")
        self.assertEqual(stats["code"], "INVALID_STATE")
        self.assertIn("up to position 100", stats["fault"])
        self.assertIn("ends at position 60", stats["fault"])
        # The other events that take their places change nothing.
        d.ask("append 60 3")
        wait_until(lambda: "incarnation" in d.ask("stats 0").get("fault", "")
                   and d.ask("stats 0")["sessions"] > 3)
        self.assertEqual({m.headers["ce_id"] for m in self.events()}, old)
        self.assertEqual(d.ask("resume")["code"], "INVALID_STATE")
        d.close()

    def test_after_new_incarnation_and_resume_publishing_goes_on(self):
        d = self.driver()
        d.ask("append 60 3")
        d.ask("start 0 forced")
        d.published(60)
        d.close()
        shutil.copy(self.folder / "store.db", self.folder / "backup.db")
        d = self.driver()
        d.ask("append 40 3")
        d.ask("start 0 forced")
        d.published(100)
        old = {e["id"] for e in d.ask("list")["events"]}
        d.close()

        d = self.driver(store="backup.db")
        d.ask("incarnation")
        head = d.ask("append 60 3")["head"]
        d.ask("start 0 forced")
        self.assertEqual(d.ask("wait-state 0 halted")["code"],
                         "INVALID_STATE")
        self.assertEqual(d.ask("resume"), {"position": 60})
        d.published(head)
        new = {e["id"] for e in d.ask("list")["events"]}
        ids = [m.headers["ce_id"] for m in self.events()]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(set(ids), old | new)
        report = d.ask("verify")
        self.assertEqual(report["faults"], 0)
        self.assertEqual(report["abandoned"], len(old - new))
        self.assertEqual(d.ask("resume")["code"], "INVALID_STATE")
        d.close()

    def test_a_new_incarnation_of_the_same_journal_is_followed(self):
        d = self.driver()
        d.ask("append 30 3")
        d.ask("start 0 forced")
        d.published(30)
        d.ask("incarnation")
        d.published(d.ask("append 30 3")["head"])
        d.close()
        d = self.driver()
        d.ask("start 0 forced")
        d.published(d.ask("append 30 3")["head"])
        self.check(d, self.events())
        d.close()

    def test_another_number_of_partitions_halts(self):
        d = self.driver()
        d.ask("append 30 3")
        d.ask("start 0 forced")
        d.published(30)
        d.close()
        d = self.driver("--partitions", "5")
        d.ask("append 30 3")
        d.ask("start 0 forced")
        stats = d.ask("wait-state 0 halted")
        self.assertEqual(stats["code"], "INVALID_CONFIG")
        self.assertIn("has 3 partitions, configured are 5", stats["fault"])
        self.assertEqual(len(self.events()), 26)
        d.close()

    def test_verify_names_what_is_wrong(self):
        d = self.driver()
        d.ask("append 35 1")
        d.ask("start 0 forced")
        d.published(35)
        d.ask("stop 0")
        topic = f"{self.prefix}.events"
        good = self.events()
        self.assertEqual(d.ask("verify")["faults"], 0)
        first, second = good[0], good[1]
        # The same again; another value under an id; what nobody published.
        produce(self.brokers, topic, first.key, first.value, first.headers)
        produce(self.brokers, topic, first.key, "{}",
                dict(first.headers, ce_id="inc_other-1"))
        produce(self.brokers, topic, first.key, "{}")
        report = d.ask("verify")
        self.assertEqual(sorted(report["findings"]),
                         ["repeated 1", "unknown 0", "unknown 1"])
        # A record says more was published than was.
        d.ask("append 7 1")
        at = d.ask("hash 42")
        produce(self.brokers, f"{self.prefix}.publisher", self.prefix,
                json.dumps({"incarnation": at["incarnation"], "position": 42,
                            "hash": at["hash"]}))
        report = d.ask("verify")
        missing = [f for f in report["findings"] if f.startswith("missing")]
        self.assertEqual(missing, [f"missing {n}" for n in range(36, 42)])
        self.assertEqual(second.headers["ce_id"][-2:], "-2")
        d.close()

    def test_verify_sees_alteration_and_order(self):
        d = self.driver()
        d.ask("append 5 1")
        for topic in ("events", "publisher", "parked"):
            d.ask(f"topic {self.prefix}.{topic} "
                  f"{3 if topic == 'events' else 1}")
        for e in reversed(d.ask("list")["events"]):
            data = e.pop("data")
            if e["id"].endswith("-2"):
                data["more"] = 1
            produce(self.brokers, f"{self.prefix}.events", e["tenantid"],
                    json.dumps(data, separators=(",", ":")),
                    {**{"ce_" + k: v for k, v in e.items()},
                     "content-type": "application/json"})
        report = d.ask("verify")
        self.assertEqual(sorted(report["findings"]),
                         ["altered 2"] +
                         [f"out-of-order {n}" for n in range(1, 5)])
        d.close()

    def test_backfill_gives_the_same_ids_to_a_new_topic(self):
        d = self.driver()
        d.ask("append 140 3")
        d.ask("start 0 forced")
        d.published(140)
        topic = f"{self.prefix}.again"
        sent = d.ask(f"backfill {topic} 50 120")["sent"]
        again = consume(self.brokers, topic)
        self.assertEqual(len(again), sent)
        in_range = [m for m in self.events() if
                    50 <= int(m.headers["ce_id"].rpartition("-")[2]) <= 120]
        strip = lambda ms: sorted((m.headers["ce_id"], m.key, m.partition,
                                   m.value) for m in ms)
        self.assertEqual(strip(again), strip(in_range))
        self.check_order(again)
        self.assertEqual(d.ask(f"backfill {topic} 50 120")["code"],
                         "ALREADY_EXISTS")
        self.assertEqual(d.ask(f"backfill {self.prefix}.new 100 141")["code"],
                         "INVALID_INPUT")
        self.assertEqual(
            d.ask(f"backfill {self.prefix}.events 1 10")["code"],
            "INVALID_INPUT")
        d.close()

    def test_checkpoints_go_out_too(self):
        d = self.driver()
        d.ask("append 10 1")
        d.ask("checkpoint")
        d.ask("start 0 forced")
        topic = f"{self.prefix}.checkpoints"
        d.published(10)
        wait_until(lambda: len(consume(self.brokers, topic)) == 1)
        d.ask("append 10 1")
        d.ask("checkpoint")
        wait_until(lambda: len(consume(self.brokers, topic)) == 2)
        d.close()
        d = self.driver()
        d.ask("start 0 forced")
        d.published(d.ask("append 10 1")["head"])
        positions = [json.loads(m.value)["position"]
                     for m in consume(self.brokers, topic)]
        self.assertEqual(positions, [10, 20])
        d.close()

    def test_how_fast(self):
        """Prints a ratio; says nothing about its size."""
        d = self.driver()
        head = d.ask(f"append {200000 if cases.LONG else 20000} 50")["head"]
        d.ask("start 0 forced")
        ours = float(d.published(head)["took"])
        d.ask("stop 0")
        d.ask(f"topic {self.prefix}.bare 3")
        bare = d.ask(f"bare {self.prefix}.bare")
        n = bare["events"]
        plain = n / float(bare["took"])
        print(f"\npublished {n / ours:,.0f} events/s, a bare produce loop of "
              f"the same records {plain:,.0f}/s: ratio "
              f"{n / ours / plain:.2f}", file=sys.stderr)
        self.check(d, self.events())
        d.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True, type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--long", action="store_true")
    options, rest = parser.parse_known_args()
    Driver.program = options.driver.resolve()
    cases.LONG = options.long
    # So that brokers and servers are ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    skip = ""
    try:
        cluster(1)
    except NoKafka as e:
        skip = str(e)
    names = rest or (["Mock"] if skip else
                     ["OneBroker", "Processes", "Subscriber",
                      "ThreeBrokers"])
    try:
        done = unittest.TextTestRunner(verbosity=2).run(
            unittest.TestLoader().loadTestsFromNames(
                names, sys.modules[__name__]))
    finally:
        for running in CLUSTERS.values():
            running.stop()
    if not done.wasSuccessful():
        return 1
    if skip:
        print(f"skipped, on librdkafka's mock alone: {skip}")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
