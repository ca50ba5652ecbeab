"""The project's own checks can fail: docs_test.py and check_includes.py."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "ops"))
sys.dont_write_bytecode = True

import check_includes  # noqa: E402
import docs_test  # noqa: E402


class DocsTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory(prefix="docs-test-")
        self.folder = pathlib.Path(self._folder.name)
        self.addCleanup(self._folder.cleanup)

    def run_page(self, text, limit=20):
        page = self.folder / "page.md"
        page.write_text(text)
        return docs_test.run_page(page, self.folder, limit)

    def test_a_page_that_holds(self):
        self.assertEqual(self.run_page(
            "# T\n```sh\nX=1\nmkdir d && cd d\n```\n"
            "```sh\necho \"$X\"; basename \"$PWD\"; echo late >&2\n```\n"
            "and prints\n```text\n1\nd\nl…e\n```\n"), "")

    def test_a_command_that_fails(self):
        for block in ("false\ntrue", "false | cat", "exit 0", "exit 3",
                      "nosuchcommand", "set +e\nfalse\n) syntax"):
            with self.subTest(block=block):
                problem = self.run_page(f"```sh\n{block}\n```\n")
                self.assertIn("page.md:2: this block failed", problem)

    def test_only_the_first_failure_is_told_and_nothing_runs_after_it(self):
        mark = self.folder / "ran"
        problem = self.run_page(
            f"```sh\nfalse\n```\n```sh\ntouch {mark}\n```\n")
        self.assertIn("page.md:2:", problem)
        self.assertFalse(mark.exists())

    def test_what_one_block_sets_does_not_soften_the_next(self):
        problem = self.run_page("```sh\nset +e\n```\n```sh\nfalse\n:\n```\n")
        self.assertIn("page.md:5: this block failed", problem)

    def test_output_that_differs(self):
        for shown in ("10 nodes", "nodes", "0 nodes\nmore", "0 …s x",
                      "…1…", ""):
            with self.subTest(shown=shown):
                problem = self.run_page(
                    f"```sh\necho 0 nodes\n```\n```text\n{shown}\n```\n")
                self.assertIn("the output shown did not come", problem)
        for shown in ("0 nodes", "…nodes", "0…", "…"):
            self.assertEqual(self.run_page(
                f"```sh\necho 0 nodes\n```\n```text\n{shown}\n```\n"), "")

    def test_blocks_nobody_would_compare(self):
        for text in ("```text\nx\n```\n```sh\ntrue\n```\n",
                     "```sh\ntrue\n```\n```text\n```\n```text\nx\n```\n",
                     "```sh\ntrue\n"):
            with self.subTest(text=text):
                self.assertIn("page.md:", self.run_page(text))

    def test_fences_with_more_words_and_indents_are_seen(self):
        problem = self.run_page("- a\n\n  ```sh title=x\n  false\n  ```\n")
        self.assertIn("this block failed", problem)

    def test_a_page_without_blocks_or_not_there(self):
        self.assertIsNone(self.run_page("# T\n```console\nfalse\n```\n"))
        self.assertIn("cannot be read", docs_test.run_page(
            self.folder / "none.md", self.folder))

    def test_a_block_that_hangs(self):
        problem = self.run_page("```sh\nsleep 600\n```\n", limit=1)
        self.assertIn("not done after 1 s", problem)

    def test_nothing_is_left_running(self):
        pids = self.folder / "pids"
        docs_test.END_SECONDS, kept = 1, docs_test.END_SECONDS
        self.addCleanup(setattr, docs_test, "END_SECONDS", kept)
        self.assertEqual(self.run_page(
            "```sh\n"
            f"sleep 600 & echo $! >>{pids}\n"
            "set -m\n"  # a process group of its own
            f"sleep 600 & echo $! >>{pids}\n"
            f"(trap '' TERM; while :; do sleep 0.1; done) & echo $! >>{pids}\n"
            "```\n"), "")
        for pid in pids.read_text().split():
            deadline = time.monotonic() + 10
            while runs(pid) and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertFalse(runs(pid))

    def test_the_program_says_it_by_its_exit_code(self):
        page = self.folder / "page.md"
        for text, code in (("```sh\ntrue\n```\n", 0),
                           ("```sh\nfalse\n```\n", 1), ("# none\n", 1)):
            page.write_text(text)
            done = subprocess.run(
                [sys.executable, ROOT / "ops/docs_test.py", "--bin",
                 self.folder, page], capture_output=True, text=True,
                timeout=60)
            self.assertEqual(done.returncode, code, done.stderr)


def runs(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


class CheckIncludes(unittest.TestCase):
    def faults(self, path, text):
        with tempfile.TemporaryDirectory() as folder:
            here = os.getcwd()
            os.chdir(folder)
            try:
                path = pathlib.Path(path)
                path.parent.mkdir(parents=True)
                path.write_text(text + "\n")
                return list(check_includes.faults(path))
            finally:
                os.chdir(here)

    def test_what_is_refused(self):
        for path, line in [
                ("base/a.cpp", '#include "pki/key.hpp"'),
                ("events/a.hpp", '#include "actors/ports.hpp"'),
                ("daemon/a.cpp", '#include "events/journal.hpp"'),
                ("gateway/a.cpp", '#include "daemon/join.hpp"'),
                ("base/a.cpp", '#  include <pki/key.hpp>'),
                ("base/a.cpp", '#include "../pki/key.hpp"'),
                ("base/a.cpp", '#include "./a.hpp"'),
                ("gateway/a.cpp", "#include <caf/all.hpp>"),
                ("events/a.cpp", "#include <openssl/evp.h>"),
                ("gateway/a.hpp", "#include <boost/asio.hpp>"),
                ("actors/a.cpp", "#include <boost/beast/core.hpp>"),
                ("actors/a.cpp", "#include <sqlite3.h>"),
                ("events/a.cpp", "#include <rapidjson/document.h>")]:
            with self.subTest(path=path, line=line):
                self.assertEqual(len(self.faults(path, line)), 1)

    def test_what_is_allowed(self):
        for path, line in [
                ("pki/a.cpp", '#include "base/bytes.hpp"'),
                ("pki/a.cpp", '#include "pki/key.hpp"'),
                ("ops/a.cpp", '#include "daemon/join.hpp"'),
                ("daemon/a.cpp", "#include <boost/asio/connect.hpp>"),
                ("base/json.hpp", "#include <rapidjson/document.h>"),
                ("base/a.cpp", "#include <vector>")]:
            with self.subTest(path=path, line=line):
                self.assertEqual(self.faults(path, line), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
