"""ops/check_cases.py fails for a field case without a test, and for none else.

No number stands right behind the word "case" in this file: the check reads it
too.
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ops"))
sys.dont_write_bytecode = True

import check_cases  # noqa: E402

WORD = "case"


def named(text):
    return sorted(check_cases.named_in(text.replace("CASE", WORD)))


class CheckCases(unittest.TestCase):
    def test_what_names_a_case(self):
        for text, numbers in [
                ("(CASE 14)", [14]),
                ("// CASE 14", [14]),
                ('"""CASE 14: a.', [14]),
                ("(CASEs 14, 82)", [14, 82]),
                ("CASEs 14 and 82", [14, 82]),
                ("CASEs 14, 15, and 82.", [14, 15, 82]),
                ('TEST_CASE("a: b (CASEs "\n    "14, "\n    "82)")', [14, 82]),
                ("(CASE 14): (CASE 15)", [14, 15])]:
            with self.subTest(text=text):
                self.assertEqual(named(text), numbers)

    def test_what_names_none(self):
        for text in ("  CASE 14:", "x\n  CASE 14:\n", "CASEs 14 to 19",
                     "CASEs 14-19", "CASEs 149 to 156", "CASE x", "CASE14",
                     "showCASE 14", "14"):
            with self.subTest(text=text):
                self.assertEqual(named(text), [])

    def run_check(self, cases, test, name="a_test.cpp"):
        with tempfile.TemporaryDirectory(prefix="cases-test-") as folder:
            listed = pathlib.Path(folder, "cases.txt")
            listed.write_text(cases)
            tests = pathlib.Path(folder, "tests")
            tests.mkdir()
            (tests / name).write_text(test.replace("CASE", WORD))
            return subprocess.run(
                [sys.executable, ROOT / "ops/check_cases.py", listed, tests],
                capture_output=True, text=True, check=False)

    def test_every_case_has_a_test(self):
        done = self.run_check("# head\n\n1 USE a\n2 API b\n", "CASEs 1, 2")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("2 of 2", done.stdout)

    def test_a_case_without_a_test_fails(self):
        for area in check_cases.AREAS:
            with self.subTest(area=area):
                done = self.run_check(f"1 {area} a\n2 USE b\n", "CASE 2")
                self.assertEqual(done.returncode, 1)
                self.assertIn(f" 1 ({area}): a", done.stderr)

    def test_other_areas_and_later_parts_are_listed_alone(self):
        done = self.run_check("1 KAFKA a\n2 RECLAIM later:sessions b\n"
                              "3 USE later:sessions c\n", "")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(" 1 (KAFKA): a\n", done.stdout)
        self.assertIn("sessions: 2, 3\n", done.stdout)

    def test_a_number_that_is_in_no_list_fails(self):
        done = self.run_check("1 USE a\n", "CASEs 1, 7")
        self.assertEqual(done.returncode, 1)
        self.assertIn("a_test.cpp: ", done.stderr)
        self.assertIn(" 7 ", done.stderr)

    def test_what_is_no_test_names_nothing(self):
        self.assertEqual(
            self.run_check("1 USE a\n", "CASE 1", "notes.md").returncode, 1)

    def test_a_list_that_cannot_be_meant_fails(self):
        for cases in ("", "# none\n", "1 USE\n", "1 use a\n", "one USE a\n",
                      "1 USE a\n1 API b\n", "1 USE later:someday a\n"):
            with self.subTest(cases=cases):
                done = self.run_check(cases, "CASE 1")
                self.assertEqual(done.returncode, 1)
                self.assertNotEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
