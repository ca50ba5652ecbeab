"""One publisher or several in one process, against one broker."""
import json
import os
import signal
import sys
import time

import cases
from harness import consume, produce, wait_until


class OneBroker(cases.Case):
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
        points = ("after-produce", "before-commit", "commit-sent",
                  "after-commit")
        kills = {(point, nth) for point in points for nth in (1, 3)} \
            if cases.LONG else {(point, 1 + 2 * (i % 2))
                                for i, point in enumerate(points)}
        for point, nth in sorted(kills):
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
        # One more for each fault; a slow broker may end others.
        self.assertIn(stats["sessions"], range(5, 10))
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
        for _ in range(2 if cases.LONG else 1):
            os.kill(d.process.pid, signal.SIGSTOP)
            time.sleep(4)
            os.kill(d.process.pid, signal.SIGCONT)
            d.ask("append 50 5")
        d.published(d.ask("append 1 5")["head"])
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

    def test_stop_does_not_wait_for_a_kafka_that_hangs(self):
        """Whatever it was about: looking, sending, or waiting for room."""
        for moment, *more in (("connecting",), ("sending",),
                              ("full", "queue.buffering.max.messages=5",
                               "transaction.timeout.ms=600000")):
            with self.subTest(moment=moment):
                self.prefix = f"hangs-{moment}"
                d = self.driver(*(o for p in more for o in ("--property", p)),
                                store=self.prefix)
                d.ask("append 50 3")
                if moment != "connecting":
                    d.ask("start 0 forced")
                    d.published(50)
                self.kafka.pause()
                if moment == "connecting":
                    d.ask("start 0 forced")
                d.ask("append 50 3")
                # Answered while Kafka is frozen still.
                self.assertEqual(d.ask("stop 0")["state"], "stopped")
                self.kafka.restart()
                d.close()

    def test_without_permission_it_halts_and_goes_on_once_it_has_it(self):
        d = self.driver()
        d.ask("append 20 3")
        d.ask(f"topic {self.prefix}.events 3")
        self.assertEqual(d.ask(f"deny {self.prefix}.events"), {"problem": ""})
        d.ask("start 0 forced")
        stats = d.ask("wait-state 0 halted")
        self.assertEqual(stats["code"], "INVALID_CONFIG")
        self.assertIn("uthorization", stats["fault"])
        self.assertEqual(d.ask(f"allow {self.prefix}.events"),
                         {"problem": ""})
        self.assertNotIn("fault", d.published(20))
        self.check(d, self.events())
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
        head = d.ask(f"append {200000 if cases.LONG else 5000} 50")["head"]
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
