"""Each rule of ops/check_schemas.py: what breaks a consumer, and what adds."""
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ops"))
sys.dont_write_bytecode = True

import check_schemas  # noqa: E402

RELEASED = {
    "$id": "urn:better-compute:event:a.b:1",
    "title": "a.b",
    "description": "A thing happened.",
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^a_[0-9]+$"},
        "count": {"type": "integer", "minimum": 1, "maximum": 10},
        "kind": {"type": "string", "enum": ["x", "y"]},
        "reason": {"type": "string", "enum": ["x"], "x-extensible": True},
        "at": {"type": "string", "format": "date-time"},
        "note": {"type": "string", "maxLength": 5},
        "parts": {"type": "array", "items": {
            "type": "object",
            "properties": {"name": {"type": "string"}},
            "required": ["name"]}},
    },
    "required": ["id", "count", "kind", "at"],
}


class CheckSchemasTest(unittest.TestCase):
    def faults_after(self, change):
        new = copy.deepcopy(RELEASED)
        change(new)
        return [(field, rule)
                for field, rule, _ in check_schemas.faults(new, RELEASED)]

    def test_nothing_changed(self):
        self.assertEqual(self.faults_after(lambda s: None), [])

    def test_what_adds_passes(self):
        def more(s):
            s["description"] = "Another text."
            s["properties"]["more"] = {"type": "object", "properties": {
                "deep": {"type": "string"}}, "required": ["deep"]}
            s["properties"]["kind"]["description"] = "Which."
            s["properties"]["reason"]["enum"].append("z")
            s["properties"]["parts"]["items"]["properties"]["size"] = {
                "type": "integer"}
        self.assertEqual(self.faults_after(more), [])

    def breaks(self, change, *expected):
        self.assertEqual(self.faults_after(change), list(expected))

    def test_a_field_removed(self):
        self.breaks(lambda s: s["properties"].pop("note"),
                    ("/note", "field-removed"))

        def required(s):
            s["properties"].pop("count")
            s["required"].remove("count")
        self.breaks(required, ("/count", "field-removed"))

    def test_a_field_renamed(self):
        def rename(s):
            s["properties"]["remark"] = s["properties"].pop("note")
        self.breaks(rename, ("/note", "field-renamed"))

    def test_a_required_field_made_optional(self):
        self.breaks(lambda s: s["required"].remove("count"),
                    ("/count", "required-dropped"))

    def test_a_field_made_required(self):
        self.breaks(lambda s: s["required"].append("note"),
                    ("/note", "required-added"))

        def new_one(s):
            s["properties"]["more"] = {"type": "string"}
            s["required"].append("more")
        self.breaks(new_one, ("/more", "required-added"))

    def test_a_type_changed(self):
        for kind in ("string", "number", ["integer", "null"], None):
            with self.subTest(kind=kind):
                self.breaks(
                    lambda s: s["properties"]["count"].update(type=kind),
                    ("/count", "type-changed"))

    def test_an_enum_widened_or_narrowed_or_dropped(self):
        self.breaks(lambda s: s["properties"]["kind"]["enum"].append("z"),
                    ("/kind", "enum-widened"))
        self.breaks(lambda s: s["properties"]["kind"]["enum"].remove("y"),
                    ("/kind", "enum-narrowed"))
        self.breaks(lambda s: s["properties"]["reason"].update(enum=["z"]),
                    ("/reason", "enum-narrowed"))
        self.breaks(lambda s: s["properties"]["kind"].pop("enum"),
                    ("/kind", "enum-dropped"))
        self.breaks(lambda s: s["properties"]["note"].update(const="n"),
                    ("/note", "enum-narrowed"))

    def test_saying_only_now_that_more_come_helps_no_consumer(self):
        def both(s):
            s["properties"]["kind"]["x-extensible"] = True
            s["properties"]["kind"]["enum"].append("z")
        self.breaks(both, ("/kind", "enum-widened"))

    def test_a_limit_changed(self):
        for field, name, value in (("count", "minimum", 0),
                                   ("count", "maximum", 11),
                                   ("count", "maximum", 9),
                                   ("note", "maxLength", None),
                                   ("id", "pattern", ".*"),
                                   ("id", "minLength", 3),
                                   ("at", "format", "date")):
            with self.subTest(field=field, name=name):
                self.breaks(
                    lambda s: s["properties"][field].update({name: value}),
                    ("/" + field, "limit-changed"))

    def test_fields_closed_to_what_comes(self):
        self.breaks(lambda s: s.update(additionalProperties=False),
                    ("", "additional-changed"))

    def test_within_arrays(self):
        def part(s):
            return s["properties"]["parts"]["items"]
        self.breaks(lambda s: part(s)["properties"].pop("name"),
                    ("/parts/items/name", "field-removed"))
        self.breaks(lambda s: s["properties"]["parts"].pop("items"),
                    ("/parts/items", "type-changed"))

    def test_what_it_does_not_understand_is_for_a_person(self):
        self.breaks(lambda s: s["properties"]["id"].update(
            oneOf=[{"type": "string"}]), ("/id", "not-understood"))

    def run_check(self, new, old):
        with tempfile.TemporaryDirectory(prefix="schemas-test-") as folder:
            for name, schemas in (("new", new), ("old", old)):
                at = pathlib.Path(folder, name)
                at.mkdir()
                for file, schema in schemas.items():
                    (at / file).write_text(json.dumps(schema))
            return subprocess.run(
                [sys.executable, ROOT / "ops/check_schemas.py",
                 f"{folder}/new", f"{folder}/old"],
                capture_output=True, text=True, check=False)

    def test_the_command_names_file_field_and_rule(self):
        new = copy.deepcopy(RELEASED)
        new["properties"].pop("note")
        done = self.run_check({"a.b.json": new}, {"a.b.json": RELEASED})
        self.assertEqual(done.returncode, 1)
        self.assertIn("a.b.json: /note: field-removed", done.stderr)

    def test_a_type_removed_an_id_changed_a_type_added(self):
        done = self.run_check({}, {"a.b.json": RELEASED})
        self.assertEqual(done.returncode, 1)
        self.assertIn("a.b.json: /: type-removed", done.stderr)
        other = dict(RELEASED, **{"$id": "urn:better-compute:event:a.b:2"})
        done = self.run_check({"a.b.json": other}, {"a.b.json": RELEASED})
        self.assertIn("a.b.json: /$id: id-changed", done.stderr)
        done = self.run_check({"a.b.json": RELEASED, "c.d.json": RELEASED},
                              {"a.b.json": RELEASED})
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_no_released_schemas_is_no_success(self):
        self.assertEqual(self.run_check({"a.b.json": RELEASED}, {}).returncode,
                         1)

    def test_this_tree_keeps_its_promise(self):
        self.assertEqual(check_schemas.main(["check_schemas.py"]), 0)


if __name__ == "__main__":
    unittest.main()
