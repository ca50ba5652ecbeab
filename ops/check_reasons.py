#!/usr/bin/env python3
"""Every refusal reason of events/refusal_reason.hpp is named by a test."""
import pathlib
import re
import sys


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    text = (root / "events/refusal_reason.hpp").read_text()
    reasons = re.findall(r'X\((\w+),\s*"[^"]+",\s*"([^"]+)"\)', text)
    tests = "\n".join(
        p.read_text() for p in (root / "tests").rglob("*_test.cpp"))
    missing = [
        wire for name, wire in reasons
        if wire not in tests and f"refusal_reason::{name}" not in tests
        and f"reason::{name}" not in tests
    ]
    for wire in missing:
        print(f"no test names the refusal reason {wire}", file=sys.stderr)
    if not reasons:
        print("no refusal reasons found", file=sys.stderr)
    return 1 if missing or not reasons else 0


if __name__ == "__main__":
    sys.exit(main())
