#!/usr/bin/env python3
"""Every field case of tests/cases.txt is named by a test.

  ops/check_cases.py [CASES TESTS_FOLDER]

A test names a case in its title or a comment: "(case 14)", "(cases 14, 82)".
A range names none. Lists the cases without a test; fails for those of the areas
below that are not marked for a later part, and for a number that is not in the
list.
"""
import pathlib
import re
import sys

AREAS = ("TOKEN", "USE", "HW", "MAC", "RECLAIM", "SEAL", "CSR", "CERT", "PIN",
         "API", "ACTOR")
LATER = ("sessions", "renewal", "requests", "tpm", "install")

ROW = re.compile(r"(\d+) ([A-Z]+) (?:later:(\S+) )?(\S.*)")
# Not "cases 149 to 156".
NAMED = re.compile(r"\b[Cc]ases?\s+(\d+(?:(?:,|,? and)\s+\d+)*)\b"
                   r"(?!\s*(?:to|-|–)\s*\d)")
SWITCH = re.compile(r"(?m)^\s*case \d+:")
# A title that goes on in the next line's literal.
JOINT = re.compile(r'"\s*\n\s*"')


class ListError(Exception):
    """The list cannot be what its writer meant."""


def read_cases(text):
    """{number: (area, part or None, title)}"""
    cases = {}
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        row = ROW.fullmatch(line)
        if not row:
            raise ListError(f"not a case: {line}")
        number, (area, part, title) = int(row.group(1)), row.groups()[1:]
        if number in cases:
            raise ListError(f"case {number} stands twice")
        if part and part not in LATER:
            raise ListError(f"case {number}: {part} is no part")
        cases[number] = (area, part, title)
    if not cases:
        raise ListError("no cases")
    return cases


def named_in(text):
    """The numbers of the cases a file's text names."""
    plain = JOINT.sub("", SWITCH.sub("", text))
    return {int(number) for match in NAMED.findall(plain)
            for number in re.findall(r"\d+", match)}


def named_by(folder):
    """{number: a file that names it}"""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".cpp", ".hpp", ".py") or not path.is_file():
            continue
        for number in named_in(path.read_text()):
            found.setdefault(number, path.relative_to(folder))
    return found


def main(arguments):
    root = pathlib.Path(__file__).resolve().parent.parent
    listed, tests = root / "tests/cases.txt", root / "tests"
    if len(arguments) == 3:
        listed, tests = pathlib.Path(arguments[1]), pathlib.Path(arguments[2])
    try:
        cases = read_cases(listed.read_text())
    except ListError as e:
        print(f"{listed}: {e}", file=sys.stderr)
        return 1
    tested = named_by(tests)
    failed = False
    for number in sorted(set(tested) - set(cases)):
        failed = True
        print(f"{tested[number]}: case {number} is not in {listed.name}",
              file=sys.stderr)
    open_later = {}
    for number in sorted(set(cases) - set(tested)):
        area, part, title = cases[number]
        if part:
            open_later.setdefault(part, []).append(str(number))
            continue
        failed = failed or area in AREAS
        print(f"no test names case {number} ({area}): {title}",
              file=sys.stderr if area in AREAS else sys.stdout)
    print(f"{len(set(cases) & set(tested))} of {len(cases)} field cases are "
          "named by a test")
    for part, numbers in open_later.items():
        print(f"  to come with {part}: {', '.join(numbers)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
