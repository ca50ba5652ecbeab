#!/usr/bin/env python3
"""Holds the public event schemas to what the last release promised.

  ops/check_schemas.py [NEW_FOLDER RELEASED_FOLDER]

Who knows the released schema must be able to read every event of the new one,
and who knows the new one every event that was written before. What breaks that
fails, naming schema, field and rule; what only adds passes: a new type, a new
optional field, another text. A break is a new version: another $id, in a file
of its own beside the old one.
"""
import json
import pathlib
import sys

LIMITS = ("minimum", "exclusiveMinimum", "minLength", "minItems",
          "minProperties", "maximum", "exclusiveMaximum", "maxLength",
          "maxItems", "maxProperties", "pattern", "format", "multipleOf",
          "uniqueItems")
TEXTS = ("$schema", "title", "description", "examples")
UNDERSTOOD = {"$id", "type", "properties", "required", "additionalProperties",
              "items", "enum", "const", "x-extensible", *LIMITS, *TEXTS}


def type_faults(new, old, where):
    if new.get("type") != old.get("type"):
        yield where, "type-changed", f"{old.get('type')} to {new.get('type')}"


def value_faults(new, old, where):
    """enum and const: a reader acts on the values it knows."""
    then = old.get("enum", [old["const"]] if "const" in old else None)
    now = new.get("enum", [new["const"]] if "const" in new else None)
    if now is None and then is not None:
        yield where, "enum-dropped", "any value may come"
    elif then is None and now is not None:
        yield where, "enum-narrowed", "other values were written before"
    elif now is not None:
        added = [v for v in now if v not in then]
        removed = [v for v in then if v not in now]
        # Consumers of the release were told that more come.
        if added and not old.get("x-extensible"):
            yield where, "enum-widened", f"no reader knows {added}"
        if removed:
            yield where, "enum-narrowed", f"{removed} were written before"


def limit_faults(new, old, where):
    for name in LIMITS:
        if new.get(name) != old.get(name):
            yield (where, "limit-changed",
                   f"{name} from {old.get(name)} to {new.get(name)}")


def object_faults(new, old, where):
    now, then = new.get("properties", {}), old.get("properties", {})
    required_now = set(new.get("required", []))
    required_then = set(old.get("required", []))
    added = [name for name in now if name not in then]
    for name in then:
        if name in now:
            yield from faults(now[name], then[name], f"{where}/{name}")
            continue
        alike = [a for a in added if now[a] == then[name]]
        yield (f"{where}/{name}",
               "field-renamed" if alike else "field-removed",
               f"is it {alike[0]} now?" if alike else "consumers read it")
    for name in sorted((required_then - required_now) & set(now)):
        yield f"{where}/{name}", "required-dropped", "consumers rely on it"
    for name in sorted(required_now - required_then):
        yield f"{where}/{name}", "required-added", "events before lack it"
    # Absent is true.
    if new.get("additionalProperties", True) != old.get(
            "additionalProperties", True):
        yield where, "additional-changed", "who may add fields, and which"


def faults(new, old, where=""):
    """Every break as (field, rule, explanation)."""
    for name in sorted((set(new) | set(old)) - UNDERSTOOD):
        if new.get(name) != old.get(name):
            yield where, "not-understood", f"{name} is for a person to judge"
    yield from type_faults(new, old, where)
    yield from value_faults(new, old, where)
    yield from limit_faults(new, old, where)
    yield from object_faults(new, old, where)
    if ("items" in new) != ("items" in old):
        yield where + "/items", "type-changed", "what the items are"
    elif "items" in old:
        yield from faults(new["items"], old["items"], where + "/items")


def compare(new_folder, old_folder):
    """The breaks of a folder of schemas: (file, field, rule, explanation)."""
    for path in sorted(old_folder.glob("*.json")):
        after = new_folder / path.name
        if not after.is_file():
            yield path.name, "/", "type-removed", "consumers wait for it"
            continue
        old = json.loads(path.read_text())
        new = json.loads(after.read_text())
        if new.get("$id") != old.get("$id"):
            yield (path.name, "/$id", "id-changed",
                   "a new version goes beside the old one")
        for field, rule, why in faults(new, old):
            yield path.name, field or "/", rule, why


def main(arguments):
    root = pathlib.Path(__file__).resolve().parent.parent
    new, old = root / "schema/events", root / "schema/released/events"
    if len(arguments) == 3:
        new, old = pathlib.Path(arguments[1]), pathlib.Path(arguments[2])
    if not list(old.glob("*.json")):
        print(f"no released schemas in {old}", file=sys.stderr)
        return 1
    found = list(compare(new, old))
    for name, field, rule, why in found:
        print(f"{name}: {field}: {rule}: {why}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
