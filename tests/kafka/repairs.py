"""A journal and topics that do not fit together; what verify finds, and what
an operator does by hand."""
import json
import shutil

from cases import Case
from harness import consume, produce, wait_until


class Repairs(Case):
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

    def test_a_lost_control_topic_halts_rather_than_begin_anew(self):
        """Subscribers do not get the history again behind what they have."""
        d = self.driver()
        d.ask("append 60 3")
        d.ask("start 0 forced")
        d.published(60)
        d.close()
        last = max(self.events(), key=lambda m: m.headers["ce_sequence"])
        d = self.driver()
        self.assertEqual(d.ask(f"delete-topic {self.prefix}.publisher"),
                         {"problem": ""})
        head = d.ask("append 20 3")["head"]
        d.ask("start 0 forced")
        stats = d.ask("wait-state 0 halted")
        self.assertEqual(stats["code"], "INVALID_STATE")
        self.assertIn(last.headers["ce_id"], stats["fault"])
        # Only an operator can say where to go on.
        self.assertEqual(d.ask("resume")["code"], "INVALID_INPUT")
        at = int(last.headers["ce_id"].rpartition("-")[2])
        self.assertEqual(d.ask(f"resume {at}"), {"position": at})
        d.published(head)
        self.check(d, self.events())
        self.assertEqual(d.ask("verify")["faults"], 0)
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
        inc = first.headers["ce_id"].rpartition("-")[0]
        beyond = 2 ** 64 - 1
        produce(self.brokers, topic, first.key, "{}",
                dict(first.headers, ce_id=f"{inc}-{beyond}"))
        report = d.ask("verify")
        self.assertEqual(sorted(report["findings"]),
                         ["repeated 1", "unknown 0", "unknown 1",
                          f"unknown {beyond}"])
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
