#!/usr/bin/env python3
"""Runs the `sh` blocks of docs pages in order, as written.

Each page runs in one shell, in a fresh folder, with the installed programs
first in PATH and $REPO naming the checkout. A `text` block after an `sh` block
is what that block must have printed, all of it (standard output and error
together); `…` matches anything.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([^`]*)$")
LIMIT_SECONDS = 300
END_SECONDS = 15


class PageError(Exception):
    """A page that cannot be run as its writer meant it."""


def blocks(page):
    """[[first line number, sh text, expected text or None]]"""
    found, kind, mark, lines, start = [], None, "", [], 0
    for number, line in enumerate(page.read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if kind is None and fence:
            mark, words = fence.group(1), fence.group(2).split()
            kind, lines, start = words[0] if words else "plain", [], number + 1
        elif kind is None or not (fence and fence.group(1).startswith(mark)
                                  and not fence.group(2)):
            lines.append(line)
        else:
            if kind == "sh":
                found.append([start, "\n".join(lines), None])
            elif kind == "text":
                # Output that nobody compares would rot unseen.
                if not found or found[-1][2] is not None:
                    raise PageError(f"{page}:{start}: a text block without an "
                                    "sh block of its own before it")
                found[-1][2] = "\n".join(lines)
            kind = None
    if kind is not None:
        raise PageError(f"{page}:{start}: this block does not end")
    return found


def matches(expected, actual):
    parts = [re.escape(p) for p in expected.strip().split("…")]
    return re.fullmatch(r"[\s\S]*?".join(parts), actual.strip()) is not None


def left_over(session, folder):
    """The processes of a session, and daemons that a page started in its
    folder."""
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # After the name, which may hold blanks: state, ppid, pgrp, session.
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            command = (entry / "cmdline").read_text(errors="replace")
        except OSError:
            continue
        if fields[0] == "Z":
            continue
        if int(fields[3]) == session or f"{folder}/" in command:
            yield int(entry.name)


def end_session(shell, folder):
    """Ends what a page started; what does not listen is killed."""
    deadline = time.monotonic() + END_SECONDS
    number = signal.SIGTERM
    while left := list(left_over(shell.pid, folder)):
        for pid in left:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        # A second SIGTERM would cut an orderly stop short.
        number = 0
        if time.monotonic() > deadline:
            number = signal.SIGKILL
        time.sleep(0.05)
    shell.wait()


def run_page(page, programs, limit=LIMIT_SECONDS):
    """None: nothing to run; "": ran as written; else what is wrong."""
    try:
        found = blocks(page)
    except (OSError, UnicodeDecodeError) as e:
        return f"{page}: cannot be read: {e}"
    except PageError as e:
        return str(e)
    if not found:
        return None
    with tempfile.TemporaryDirectory(prefix="docs-") as folder:
        return run_blocks(page, found, programs, pathlib.Path(folder), limit)


def run_blocks(page, found, programs, folder, limit):
    out = folder / ".out"
    work = folder / "work"
    out.mkdir()
    work.mkdir()
    # A server that a page starts may run as a user of its own.
    folder.chmod(0o711)
    work.chmod(0o711)
    driver = []
    for i, (_, text, _) in enumerate(found):
        (out / f"{i}.sh").write_text(text + "\n")
        driver.append("set -eo pipefail")
        driver.append(f". {out}/{i}.sh >{out}/{i}.txt 2>&1 </dev/null")
        # Also for a block that switched errexit off.
        driver.append("[ $? -eq 0 ] || exit 1")
        driver.append(f"touch {out}/{i}.done")
    env = dict(os.environ, PATH=f"{programs}:{os.environ['PATH']}",
               HOME=str(work))
    for name in [n for n in env if n.startswith(("BETTER_COMPUTE", "BCD_",
                                                 "BC_"))]:
        del env[name]
    env["REPO"] = str(ROOT)
    shell = subprocess.Popen(["bash", "-c", "\n".join(driver)], cwd=work,
                             env=env, start_new_session=True)
    why = "this block failed"
    try:
        shell.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        why = f"this block was not done after {limit} s for the page"
    finally:
        end_session(shell, work)
    for i, (line, text, expected) in enumerate(found):
        printed = out / f"{i}.txt"
        actual = printed.read_text(errors="replace") if printed.exists() \
            else ""
        if not (out / f"{i}.done").exists():
            return f"{page}:{line}: {why}:\n{text}\n--- printed\n{actual}"
        if expected is not None and not matches(expected, actual):
            return f"{page}:{line}: the output shown did not come:\n" \
                   f"--- shown\n{expected}\n--- printed\n{actual}"
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="so many pages at a time")
    parser.add_argument("pages", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    programs = options.bin.resolve()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        problems = pool.map(lambda page: run_page(page, programs),
                            options.pages)
        for page, problem in zip(options.pages, problems):
            if problem is None:
                if len(options.pages) == 1:
                    print(f"{page}: has no sh block", file=sys.stderr)
                    failed += 1
            elif problem:
                print(problem, file=sys.stderr)
                failed += 1
            else:
                print(f"{page}: ran as written", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
