#!/usr/bin/env python3
"""A subscriber to better-compute's events (docs/subscribe.md).

Applies each event once, in order for each tenant, whatever is delivered twice
or by whom, and never goes on from a place that is not the one it left:

  subscribe.py --brokers HOST:PORT --topic better-compute.events \
               --database FILE [--follow]

It reads with kcat and keeps what it did in SQLite. The effect here is a row
and a printed line; yours goes where `apply` is.
"""
import argparse
import json
import sqlite3
import subprocess
import sys

TABLES = """
create table if not exists applied (
  source text, id text, type text, tenant text, sequence text,
  primary key (source, id));
create table if not exists places (
  topic text, partition integer, next integer, last_id text,
  primary key (topic, partition));
"""


class Jumped(Exception):
    """The topic is not the one that was read, or no longer all of it."""


def apply(event, data):
    """The effect. It is in the transaction that records it as done."""
    return f"{event['ce_id']} {event['ce_type']} {json.dumps(data)}"


def partitions(brokers, topic):
    done = subprocess.run(["kcat", "-L", "-J", "-b", brokers, "-t", topic],
                          capture_output=True, text=True, check=True)
    return [p["partition"]
            for p in json.loads(done.stdout)["topics"][0]["partitions"]]


def read(brokers, topic, partition, place, follow):
    """The committed messages from this place on, oldest first."""
    command = ["kcat", "-C", "-b", brokers, "-t", topic, "-p", str(partition),
               "-o", str(place), "-J", "-q", "-u",
               "-X", "isolation.level=read_committed",
               # A place that is gone is an error, not the end or the start.
               "-X", "auto.offset.reset=error"]
    with subprocess.Popen(command + ([] if follow else ["-e"]), text=True,
                          stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as kcat:
        for line in kcat.stdout:
            yield json.loads(line)
        problem = kcat.stderr.read()
    if kcat.returncode:
        raise Jumped(f"{topic}[{partition}] cannot be read from offset "
                     f"{place}: {problem.strip()}")


def take(db, message):
    """One message, one transaction: the effect, and how far we are."""
    pairs = message.get("headers") or []
    event = dict(zip(pairs[::2], pairs[1::2]))
    with db:
        db.execute("begin immediate")
        # The same id again is the same event: after a retry of the
        # publisher, or because the partition changed hands half way.
        new = db.execute(
            "insert or ignore into applied values (?, ?, ?, ?, ?)",
            (event["ce_source"], event["ce_id"], event["ce_type"],
             event.get("ce_tenantid"), event["ce_sequence"])).rowcount
        # Unknown types and unknown fields are for a newer subscriber.
        line = apply(event, json.loads(message["payload"])) if new else None
        db.execute(
            "insert into places values (?, ?, ?, ?) on conflict do update "
            "set next = excluded.next, last_id = excluded.last_id "
            "where excluded.next > places.next",
            (message["topic"], message["partition"], message["offset"] + 1,
             event["ce_id"]))
    if line:
        print(line, flush=True)


def run(db, brokers, topic, partition, follow):
    place = db.execute("select next, last_id from places where topic = ? and "
                       "partition = ?", (topic, partition)).fetchone()
    # The last message that was applied is read again: when it is another one
    # now, the topic was deleted and made anew (or restored from a backup).
    start = place[0] - 1 if place else "beginning"
    for message in read(brokers, topic, partition, start, follow):
        if place:
            pairs = message.get("headers") or []
            found = dict(zip(pairs[::2], pairs[1::2])).get("ce_id")
            if message["offset"] != place[0] - 1 or found != place[1]:
                raise Jumped(f"{topic}[{partition}] has {found} at offset "
                             f"{message['offset']}, where {place[1]} was")
            place = None
            continue
        take(db, message)
    if place:
        raise Jumped(f"{topic}[{partition}] ends before offset {place[0]}, "
                     "up to which it was read")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--brokers", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--database", required=True)
    parser.add_argument("--partition", type=int,
                        help="this one alone; --follow needs it")
    parser.add_argument("--follow", action="store_true")
    options = parser.parse_args()
    if options.follow and options.partition is None:
        parser.error("--follow needs --partition: run one for each")
    db = sqlite3.connect(options.database, timeout=60, isolation_level=None)
    db.executescript(TABLES)
    wanted = partitions(options.brokers, options.topic) \
        if options.partition is None else [options.partition]
    try:
        for partition in wanted:
            run(db, options.brokers, options.topic, partition, options.follow)
    except Jumped as e:
        print(f"{e}\nEvents may be missing: rebuild from a backfill, or from "
              "the API's events, before going on.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
