"""A journal and topics that do not fit together; what verify finds, and what
an operator does by hand."""
import json
import shutil

from cases import Case
from harness import consume, produce, wait_until


def position(m):
    return int(m.headers["ce_id"].rpartition("-")[2])


class Repairs(Case):
    def record(self):
        """What Kafka says was published."""
        last = consume(self.brokers, f"{self.prefix}.publisher")[-1]
        return json.loads(last.value)

    def write_record(self, said):
        produce(self.brokers, f"{self.prefix}.publisher", self.prefix,
                json.dumps(said))

    def placement(self):
        said = self.record()
        return said["partitions"], said["layout"], said["placedAfter"]

    def publish_again(self, d, messages, partitions):
        """In a new topic, each in its partition."""
        topic = f"{self.prefix}.events"
        self.assertEqual(d.ask(f"delete-topic {topic}"), {"problem": ""})
        d.ask(f"topic {topic} {partitions}")
        for m in messages:
            produce(self.brokers, topic, m.key, m.value, m.headers,
                    partition=m.partition)

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
        # Keys lie where they lay.
        self.assertEqual(self.placement(), (3, "single", 0))
        d.close()

    def refused(self, d, command, code, *words):
        answer = d.ask(command)
        self.assertEqual(answer.get("code"), code, answer)
        for word in words:
            self.assertIn(word, answer["fault"])

    def publish_past_a_backup(self):
        """backup.db has 60 of the 100 events that Kafka has."""
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
        d.close()

    def test_a_resume_after_a_restore_leaves_nothing_out_unasked(self):
        """Neither what the new incarnation wrote meanwhile, nor under ids that
        Kafka has already."""
        self.publish_past_a_backup()

        d = self.driver(store="backup.db")
        self.refused(d, "resume 60", "INVALID_STATE", "new-incarnation")
        d.ask("incarnation")
        head = d.ask("append 60 3")["head"]
        # Kafka has position 90 too, but of the copy that is gone.
        self.refused(d, "resume 90", "INVALID_STATE", "was not published",
                     "up to 60", "--skip-undelivered")
        self.refused(d, "resume 50", "INVALID_STATE", "is sent again",
                     "up to 60", "--resend-delivered")
        self.refused(d, f"resume {head + 1}", "INVALID_INPUT", str(head))
        # Consent to the one is none to the other.
        self.refused(d, "resume 90 resend", "INVALID_STATE")
        self.refused(d, "resume 50 skip", "INVALID_STATE")
        self.assertEqual(d.ask("resume 90 skip"), {"position": 90})
        d.ask("start 0 forced")
        d.published(head)
        inc = d.ask("hash 70")["incarnation"]
        new = {int(m.headers["ce_id"].rpartition("-")[2])
               for m in self.events() if m.headers["ce_id"].startswith(inc)}
        self.assertEqual(min(new) > 90, True)
        left_out = {f for f in d.ask("verify")["findings"]}
        self.assertTrue(left_out)
        self.assertLess({int(f.split()[1]) for f in left_out},
                        set(range(61, 91)))
        d.close()

    def test_a_lost_control_topic_and_a_restored_journal(self):
        """Both at once: what the topics hold tells that the journal wrote on
        under ids that others have."""
        self.publish_past_a_backup()
        d = self.driver(store="backup.db")
        d.ask(f"delete-topic {self.prefix}.publisher")
        d.ask("start 0 forced")
        d.ask("wait-state 0 halted")
        self.refused(d, "resume 60", "INVALID_STATE", "ends before it")
        d.ask("append 60 3")
        self.refused(d, "resume 60", "INVALID_STATE", "another event there")
        # What it wrote under these ids is given up, and nothing else.
        d.ask("incarnation")
        head = d.ask("append 30 3")["head"]
        self.refused(d, "resume 60 resend", "INVALID_STATE", "up to 120")
        self.refused(d, "resume 120", "INVALID_STATE", "--skip-undelivered")
        self.assertEqual(d.ask("resume 120 skip"), {"position": 120})
        self.published_anew(d, 120, head)
        d.close()

    def published_anew(self, d, after, head):
        """All of the new incarnation, and no id that was there before."""
        d.ask("stop 0")
        d.ask("start 0 forced")
        d.published(head)
        ids = [m.headers["ce_id"] for m in self.events()]
        self.assertEqual(len(ids), len(set(ids)))
        inc = d.ask(f"hash {head}")["incarnation"]
        written = {e["id"] for e in d.ask("list")["events"]
                   if e["id"].startswith(inc)}
        self.assertTrue(written)
        self.assertEqual({i for i in ids if i.startswith(inc)}, written)

    def test_a_restored_journal_that_wrote_on_before_it_moved_on(self):
        """Servers were started before the new incarnation: under ids up to 80
        the journal has other events than Kafka, and Kafka goes on to 100."""
        self.publish_past_a_backup()
        d = self.driver(store="backup.db")
        d.ask("append 20 3")
        d.ask("start 0 forced")
        d.ask("wait-state 0 halted")
        d.ask("incarnation")
        head = d.ask("append 30 3")["head"]
        # Nobody but an enemy has published under these.
        inc = d.ask(f"hash {head}")["incarnation"]
        some = self.events()[0]
        for n in (head, head + 1000):
            produce(self.brokers, some.topic, some.key, "{}",
                    dict(some.headers, ce_id=f"{inc}-{n}"))
        for command in ("resume", "resume 80", "resume 60", "resume 60 resend"):
            self.refused(d, command, "INVALID_STATE", "up to 80",
                         "--skip-undelivered")
        self.assertEqual(d.ask("resume skip"), {"position": 80})
        d.ask("stop 0")
        d.ask("start 0 forced")
        d.published(head)
        published = {m.headers["ce_id"] for m in self.events()
                     if m.value != "{}"}
        self.assertEqual(
            {i for i in published if i.startswith(inc)},
            {e["id"] for e in d.ask("list")["events"]
             if e["id"].startswith(inc)})
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
        self.refused(d, "resume 0", "INVALID_INPUT")
        self.refused(d, f"resume {head + 1}", "INVALID_INPUT")
        self.refused(d, f"resume {head}", "INVALID_STATE", f"up to {at}")
        self.refused(d, f"resume {at - 10}", "INVALID_STATE", f"up to {at}")
        self.assertEqual(d.ask(f"resume {at}"), {"position": at})
        d.published(head)
        self.check(d, self.events())
        self.assertEqual(d.ask("verify")["faults"], 0)
        d.close()

    def test_events_are_sent_again_where_that_is_asked_for(self):
        d = self.driver()
        d.ask("append 60 3")
        d.ask("start 0 forced")
        d.published(60)
        d.close()
        before = [m.headers["ce_id"] for m in self.events()]
        d = self.driver()
        d.ask(f"delete-topic {self.prefix}.publisher")
        d.ask("start 0 forced")
        d.ask("wait-state 0 halted")
        self.assertEqual(d.ask("resume 40 resend"), {"position": 40})
        d.published(d.ask("append 10 3")["head"])
        again = [m.headers["ce_id"] for m in self.events()]
        twice = {i for i in before if int(i.rpartition("-")[2]) > 40}
        self.assertTrue(twice)
        self.assertEqual({i for i in again if again.count(i) > 1}, twice)
        self.assertEqual({f.split()[0] for f in d.ask("verify")["findings"]},
                         {"repeated"})
        d.close()

    def test_added_partitions_are_one_finding_and_have_a_way_out(self):
        d = self.driver()
        d.ask("append 60 9")
        d.ask("start 0 forced")
        d.published(60)
        d.ask("stop 0")
        topic = f"{self.prefix}.events"
        self.assertEqual(d.ask(f"partitions {topic} 6"), {"problem": ""})
        wait_until(lambda: d.ask("verify").get("findings") ==
                   ["partitions 0"])
        d.close()
        # Nothing is published until somebody decides.
        d = self.driver()
        head = d.ask("append 20 9")["head"]
        d.ask("start 0 forced")
        self.assertIn("has 6 partitions, configured are 3",
                      d.ask("wait-state 0 halted")["fault"])
        d.close()
        # Configured to follow, keys move: one finding, whatever their number.
        d = self.driver("--partitions", "6")
        d.ask("start 0 forced")
        d.published(head)
        d.ask("stop 0")
        self.assertEqual(self.placement(), (6, "single", 60))
        self.assertEqual([f.split()[0] for f in d.ask("verify")["findings"]],
                         ["partitions"])
        # Nor when what lay elsewhere aged out, all but the last, or all.
        all_of_it = self.events()
        old = {m.headers["ce_id"] for m in all_of_it}
        home = {m.key: m.partition for m in all_of_it}
        moved = {m.partition: m.offset for m in all_of_it
                 if m.partition != home[m.key]}
        self.assertTrue(any(moved.values()))
        for more, kinds in ((0, {"partitions"}), (1, set())):
            for partition, last in moved.items():
                self.assertEqual(
                    d.ask(f"trim {topic} {partition} {last + more}"),
                    {"problem": ""})
            report = d.ask("verify")
            self.assertEqual({f.split()[0] for f in report["findings"]},
                             kinds)
            self.assertGreater(report["agedOut"], 0)
        # What was lost after the change is told all the same.
        lost = min((m for m in self.events()
                    if m.partition not in moved and position(m) > 60),
                   key=position)
        self.publish_again(d, [m for m in sorted(all_of_it, key=position)
                               if position(m) != position(lost)], 6)
        for partition in moved:
            end = max(m.offset for m in self.events()
                      if m.partition == partition)
            self.assertEqual(d.ask(f"trim {topic} {partition} {end + 1}"),
                             {"problem": ""})
        self.assertEqual(d.ask("verify")["findings"],
                         [f"missing {position(lost)}"])
        d.close()
        # Topics of another prefix have it all, with the same ids.
        self.prefix += "-2"
        d = self.driver("--partitions", "6")
        d.ask("start 0 forced")
        d.published(head)
        self.assertEqual(d.ask("verify")["faults"], 0)
        new = self.events()
        self.check(d, new)
        self.assertEqual({m.headers["ce_id"] for m in new}, old)
        d.close()

    def test_one_event_in_another_partition_is_named(self):
        d = self.driver()
        d.ask("append 5 1")
        for topic in ("events", "publisher", "parked"):
            d.ask(f"topic {self.prefix}.{topic} "
                  f"{3 if topic == 'events' else 1}")
        odd = None
        for e in sorted(d.ask("list")["events"],
                        key=lambda e: e["id"].endswith("-2")):
            data = e.pop("data")
            if e["id"].endswith("-2"):
                odd = (self.events()[0].partition + 1) % 3
            produce(self.brokers, f"{self.prefix}.events", e["tenantid"],
                    json.dumps(data, separators=(",", ":")),
                    {**{"ce_" + k: v for k, v in e.items()},
                     "content-type": "application/json"}, partition=odd)
        self.assertEqual(len({m.partition for m in self.events()}), 2)
        self.assertEqual(d.ask("verify")["findings"], ["partitions 2"])
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

    def test_a_loss_is_not_taken_for_age_elsewhere(self):
        """The first event of a partition is gone, in which nothing aged out;
        in another one something did."""
        d = self.driver()
        d.ask("append 40 9")
        d.ask("start 0 forced")
        d.published(40)
        d.close()
        topic = f"{self.prefix}.events"
        events = sorted(self.events(), key=position)
        lost = events[0]
        aged = next(m.partition for m in events
                    if m.partition != lost.partition)
        # The topic again, without the one.
        d = self.driver()
        self.publish_again(d, events[1:], 3)
        self.assertEqual(d.ask("verify")["findings"],
                         [f"missing {position(lost)}"])
        end = max(m.offset for m in self.events() if m.partition == aged)
        self.assertEqual(d.ask(f"trim {topic} {aged} {end}"),
                         {"problem": ""})
        report = d.ask("verify")
        self.assertEqual(report["findings"], [f"missing {position(lost)}"])
        self.assertEqual(report["agedOut"], end)
        # An older program did not say since when keys lie where they do: then
        # it may have been in the partition that lost its begin.
        said = self.record()
        self.assertEqual([said.pop(name) for name in
                          ("partitions", "layout", "placedAfter")],
                         [3, "single", 0])
        self.write_record(said)
        report = d.ask("verify")
        self.assertEqual((report["findings"], report["agedOut"]),
                         ([], end + 1))
        # The next one does, for what comes from now on.
        d.ask("append 5 9")
        d.ask("start 0 forced")
        d.published(45)
        d.ask("stop 0")
        self.assertEqual(self.placement(), (3, "single", 40))
        d.close()

    def test_events_of_another_layout_lie_elsewhere(self):
        d = self.driver()
        d.ask("append 10 2")
        d.ask("start 0 forced")
        d.published(10)
        d.ask("stop 0")
        self.write_record(dict(self.record(), layout="type"))
        d.ask("append 5 2")
        d.ask("start 0 forced")
        d.published(15)
        d.ask("stop 0")
        self.assertEqual(self.placement(), (3, "single", 10))
        for wrong in ({"partitions": 1001}, {"partitions": -1},
                      {"layout": "both"}):
            with self.subTest(wrong=wrong):
                good = self.record()
                self.write_record(dict(good, **wrong))
                self.refused(d, "verify", "INTERNAL", "cannot be understood")
                self.write_record(good)
        d.close()

    def test_a_resume_from_before_keys_were_moved(self):
        self.publish_past_a_backup()
        self.write_record(dict(self.record(), placedAfter=80))
        d = self.driver(store="backup.db")
        d.ask("incarnation")
        head = d.ask("append 60 3")["head"]
        self.assertEqual(d.ask("resume"), {"position": 60})
        self.assertEqual(self.placement(), (3, "single", 60))
        d.ask("start 0 forced")
        d.published(head)
        d.ask("stop 0")
        self.assertEqual(self.placement(), (3, "single", 60))
        self.assertEqual(d.ask("verify")["faults"], 0)
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
