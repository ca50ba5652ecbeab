#!/usr/bin/env python3
"""Derives the keys of hardware-keys.json a second time, from what is left of the
claims (ATTESTATION section 5, derive v1)."""
import hashlib
import json
import pathlib
import sys

path = pathlib.Path(__file__).with_name("hardware-keys.json")


def derive(ids):
    uuid, serials = ids.get("productUuid"), ids["serials"]
    picked = [("uuid", uuid)] if uuid else []
    picked += [("serial", s) for s in serials[:1]]
    parts = [("mac", m) for m in sorted(ids["macs"])[:1]]
    parts += [("gpu", g) for g in sorted(ids["gpuUuids"])[:1]]
    picked += parts[:2 - len(picked)]
    if not picked:
        return ""
    text = "better-compute/hardware-key/v1\n"
    text += "".join(f"{kind}={value}\n" for kind, value in picked)
    return hashlib.sha256(text.encode()).hexdigest()


def main():
    machines = json.loads(path.read_text())
    wrong = [m["name"] for m in machines
             if derive(m["identifiers"]) != m["hardwareKey"]]
    for m in machines:
        kinds = sum(bool(v) for v in m["identifiers"].values())
        if m["trusted"] and kinds < 2:
            wrong.append(m["name"] + ": trusted by one kind")
    print(f"{len(machines)} keys", *wrong, sep="\n")
    return 1 if wrong or len(machines) < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
