"""docs/subscribe.py, run as docs/subscribe.md says (cases 155 and 156)."""
import subprocess
import sys

from cases import Case
from harness import ROOT, produce


class Subscriber(Case):
    """The consumer of docs/subscribe.md."""

    def subscribe(self, topic=None, code=0):
        done = subprocess.run(
            [sys.executable, ROOT / "docs/subscribe.py", "--brokers",
             self.brokers, "--topic", topic or f"{self.prefix}.events",
             "--database", self.folder / "subscriber.db"], capture_output=True, text=True,
            timeout=150)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout.splitlines() if code == 0 else done.stderr

    def publish(self, count):
        d = self.driver()
        d.ask(f"append {count} 4")
        d.ask("start 0 forced")
        d.published(d.ask("append 1 4")["head"])
        ids = [e["id"] for e in d.ask("list")["events"]]
        d.close()
        return ids

    def test_each_effect_once_for_repeated_and_overlapping_reads(self):
        """Case 156: the owner of a partition changes in mid-work."""
        ids = self.publish(50)
        self.assertEqual(sorted(line.split()[0] for line in self.subscribe()),
                         sorted(ids))
        self.assertEqual(self.subscribe(), [])
        # A duplicate with the same id, as after a producer's retry (149).
        again = self.events()[3]
        produce(self.brokers, f"{self.prefix}.events", again.key, again.value,
                again.headers)
        self.assertEqual(self.subscribe(), [])
        more = self.publish(30)
        two = [subprocess.Popen(
            [sys.executable, ROOT / "docs/subscribe.py", "--brokers",
             self.brokers, "--topic", f"{self.prefix}.events", "--database",
             self.folder / "subscriber.db"], stdout=subprocess.PIPE,
            text=True) for _ in range(2)]
        out = [p.communicate(timeout=150)[0] for p in two]
        self.assertEqual([p.returncode for p in two], [0, 0])
        done = [line.split()[0] for line in "".join(out).splitlines()]
        self.assertEqual(sorted(done), sorted(set(more) - set(ids)))

    def test_a_topic_made_anew_is_told_loudly(self):
        """Case 155: never a silent jump, be the new topic shorter or longer
        than the old one was."""
        self.publish(50)
        self.subscribe()
        for count in (1, 200):
            with self.subTest(count=count):
                d = self.driver(store="admin.db")
                topic = f"{self.prefix}.events"
                self.assertEqual(d.ask(f"delete-topic {topic}"),
                                 {"problem": ""})
                d.ask(f"topic {topic} 3")
                d.close()
                for partition in range(3):
                    produce(self.brokers, topic, "k", "{}\n" * count,
                            {"ce_id": "inc_new-1", "ce_source": "urn:test",
                             "ce_type": "x", "ce_sequence": "inc_new-1"},
                            partition=partition, lines=True)
                self.assertIn("rebuild", self.subscribe(code=1))

    def test_what_aged_out_is_told_loudly(self):
        """Case 155: a consumer that was away longer than the retention, and
        verify, which tells age from loss."""
        self.publish(50)
        self.subscribe()
        before = len(self.events())
        self.publish(60)
        topic = f"{self.prefix}.events"
        d = self.driver()
        ends = {m.partition: m.offset for m in self.events()}
        for partition, last in ends.items():
            self.assertEqual(d.ask(f"trim {topic} {partition} {last}"),
                             {"problem": ""})
        self.assertIn("rebuild", self.subscribe(code=1))
        left = len(self.events())
        self.assertEqual(left, len(ends))
        report = d.ask("verify")
        self.assertEqual(report["faults"], 0)
        self.assertEqual(report["agedOut"], report["expected"] - left)
        self.assertGreater(report["agedOut"], before)
        # The whole range comes again by a backfill, and is applied once.
        new = {e["id"] for e in d.ask("list")["events"]}
        d.ask(f"backfill {self.prefix}.again 1 {d.ask('append 1 4')['head']}")
        d.close()
        lines = self.subscribe(topic=f"{self.prefix}.again")
        self.assertLess(len(lines), len(new))
        self.assertEqual(len(lines), len({line.split()[0] for line in lines}))
