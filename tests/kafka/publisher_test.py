#!/usr/bin/env python3
"""Public events in a real Kafka: each once, in order for each key, through
every kind of interruption (spec: DESIGN section 6; cases 149 to 156)."""
import argparse
import os
import pathlib
import signal
import sys
import unittest

import cases
from cases import CLUSTERS, cluster
from failover import Mock, Processes, ThreeBrokers
from harness import Driver, NoKafka
from publishing import OneBroker
from repairs import Repairs
from subscriber import Subscriber

REAL = (OneBroker, Repairs, Processes, Subscriber, ThreeBrokers)


def suite_of(classes):
    loader = unittest.TestLoader()
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, classes))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--driver", required=True, type=pathlib.Path)
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--long", action="store_true")
    options, rest = parser.parse_known_args()
    Driver.program = options.driver.resolve()
    cases.LONG = options.long or os.environ.get("BC_LONG") == "1"
    # So that brokers and servers are ended too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    skip = ""
    try:
        cluster(1)
    except NoKafka as e:
        skip = str(e)
    try:
        wanted = unittest.TestLoader().loadTestsFromNames(
            rest, sys.modules[__name__]) if rest else suite_of(
            [Mock] if skip else REAL)
        done = unittest.TextTestRunner(verbosity=2).run(wanted)
    finally:
        for running in CLUSTERS.values():
            running.stop()
    if not done.wasSuccessful():
        return 1
    if skip:
        left = suite_of(REAL).countTestCases()
        print(f"skipped: {left} Kafka tests ({skip}); {done.testsRun} ran on "
              "librdkafka's mock")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())
