#!/usr/bin/env python3
"""Runs the `sh` blocks of docs pages in order, as written.

Each page runs in one shell, in a fresh folder, with the installed programs
first in PATH. A `text` block after an `sh` block is what that block must have
printed (standard output and error together); `…` matches anything.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w*)\s*$")
LIMIT_SECONDS = 180


def blocks(page):
    """[(first line number, sh text, expected text or None)]"""
    found, kind, lines, start = [], None, [], 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if kind is None and fence:
            kind, lines, start = fence.group(1) or "plain", [], number + 1
        elif kind is not None and line.strip() == "```":
            text = "\n".join(lines)
            if kind == "sh":
                found.append([start, text, None])
            elif kind == "text" and found and found[-1][2] is None:
                found[-1][2] = text
            kind = None
        elif kind is not None:
            lines.append(line)
    return found


def matches(expected, actual):
    parts = [re.escape(p) for p in expected.strip().split("…")]
    return re.search(r"[\s\S]*?".join(parts), actual) is not None


def run_page(page, programs):
    found = blocks(page)
    if not found:
        return None
    with tempfile.TemporaryDirectory(prefix="docs-") as folder:
        out = pathlib.Path(folder) / ".out"
        work = pathlib.Path(folder) / "work"
        out.mkdir()
        work.mkdir()
        driver = ["set -eo pipefail"]
        for i, (_, text, _) in enumerate(found):
            (out / f"{i}.sh").write_text(text + "\n")
            driver.append(f". {out}/{i}.sh >{out}/{i}.txt 2>&1 </dev/null")
            driver.append(f"touch {out}/{i}.done")
        env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}",
                   HOME=str(work))
        for name in [n for n in env if n.startswith(("BETTER_COMPUTE",
                                                     "BCD_", "BC_"))]:
            del env[name]
        shell = subprocess.Popen(["bash", "-c", "\n".join(driver)], cwd=work,
                                 env=env, start_new_session=True)
        try:
            shell.wait(timeout=LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            pass
        finally:
            try:
                os.killpg(shell.pid, signal.SIGTERM)
                shell.wait(timeout=15)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        for i, (line, text, expected) in enumerate(found):
            printed = out / f"{i}.txt"
            actual = printed.read_text(errors="replace") if printed.exists() \
                else ""
            if not (out / f"{i}.done").exists():
                return f"{page}:{line}: this block failed:\n{text}\n" \
                       f"--- printed\n{actual}"
            if expected is not None and not matches(expected, actual):
                return f"{page}:{line}: the output shown did not come:\n" \
                       f"--- shown\n{expected}\n--- printed\n{actual}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    failed = 0
    for page in options.pages:
        problem = run_page(page, options.bin.resolve())
        if problem is None:
            if len(options.pages) == 1:
                print(f"{page}: has no sh block", file=sys.stderr)
                failed += 1
        elif problem:
            print(problem, file=sys.stderr)
            failed += 1
        else:
            print(f"{page}: ran as written")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
