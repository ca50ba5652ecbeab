"""The command on a terminal: colours, width, questions (DESIGN section 11)."""
import argparse
import fcntl
import http.server
import json
import os
import pathlib
import pty
import select
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

PROGRAMS = None
WAIT = 60
NODE = {"id": "node_" + "0" * 26, "status": "adopted",
        "hostname": "a-hostname-of-quite-some-length-" + "x" * 40,
        "poolId": "pool_" + "0" * 26,
        "joinedAt": "2020-01-02T03:04:05.678Z", "position": 7}


class Api(http.server.BaseHTTPRequestHandler):
    calls = []

    def do_POST(self):
        size = int(self.headers["content-length"])
        Api.calls.append((self.path, json.loads(self.rfile.read(size))))
        answer = {"items": [NODE]} if self.path.endswith("/list") else NODE
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Terminal(unittest.TestCase):
    def setUp(self):
        Api.calls = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Api)
        threading.Thread(target=self.server.serve_forever,
                         daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.env = {
            k: v for k, v in os.environ.items()
            if not k.startswith("BETTER_COMPUTE") and k != "NO_COLOR"}
        self.env.update(
            BETTER_COMPUTE_URL=f"http://127.0.0.1:{self.server.server_port}",
            BETTER_COMPUTE_CREDENTIAL="bck_" + "0" * 26 + "." + "s" * 43,
            BETTER_COMPUTE_TENANT="ten_x", TERM="xterm",
            XDG_CONFIG_HOME=folder.name)

    def on_terminal(self, *words, columns=200, typed=None, **env):
        """(exit code, what the terminal shows)"""
        pid, fd = pty.fork()
        if pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ,
                        struct.pack("HHHH", 40, columns, 0, 0))
            os.execve(PROGRAMS / "better-compute",
                      ["better-compute", *words], dict(self.env, **env))
        text = b""
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            if not select.select([fd], [], [], 1)[0]:
                continue
            try:
                piece = os.read(fd, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
            if typed is not None and b"Type yes: " in text:
                os.write(fd, typed.encode())
                typed = None
        os.close(fd)
        _, status = os.waitpid(pid, 0)
        return os.waitstatus_to_exitcode(status), text.decode()

    def piped(self, *words, **env):
        return subprocess.run([PROGRAMS / "better-compute", *words],
                              env=dict(self.env, **env), text=True,
                              capture_output=True, stdin=subprocess.DEVNULL,
                              timeout=WAIT)

    def test_colours_on_a_terminal_alone(self):
        code, text = self.on_terminal("nodes", "list")
        self.assertEqual(code, 0, text)
        self.assertIn("\x1b[32madopted\x1b[0m", text)
        for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            self.assertNotIn("\x1b", self.on_terminal("nodes", "list",
                                                      **env)[1])
        self.assertIn("\x1b", self.on_terminal("nodes", "list",
                                               NO_COLOR="")[1])
        self.assertNotIn("\x1b", self.piped("nodes", "list").stdout)

    def test_width(self):
        """Cut to the terminal, never in a pipe; ids stay whole."""
        _, text = self.on_terminal("nodes", "list", columns=125,
                                   NO_COLOR="1")
        lines = text.splitlines()
        self.assertLessEqual(max(map(len, lines)), 125)
        self.assertIn("…", lines[1])
        self.assertIn(NODE["id"], lines[1])
        whole = self.piped("nodes", "list").stdout
        self.assertIn(NODE["hostname"], whole)

    def test_times(self):
        self.assertIn("2020-01-02", self.piped("nodes", "list").stdout)
        self.assertNotIn("03:04", self.piped("nodes", "list").stdout)
        self.assertIn("2020-01-02T03:04:05.678Z",
                      self.piped("nodes", "list", "--utc").stdout)

    def test_asks_before_what_cannot_be_taken_back(self):
        delete = ("nodes", "delete", NODE["id"])
        code, text = self.on_terminal(*delete, typed="no\n")
        self.assertEqual(code, 2)
        self.assertIn("Delete the node " + NODE["id"], text)
        self.assertIn("nothing was done", text)
        self.assertEqual(Api.calls, [])
        code, text = self.on_terminal(*delete, typed="yes\n")
        self.assertEqual(code, 0, text)
        self.assertEqual(Api.calls[0][0], "/api/compute/nodes/delete")
        done = self.piped(*delete)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--yes", done.stderr)
        self.assertEqual(len(Api.calls), 1)
        self.assertEqual(self.piped(*delete, "--yes").returncode, 0)

    def test_json_is_the_answer_as_it_is(self):
        for words in (("nodes", "list"), ("nodes", "get", NODE["id"])):
            _, text = self.on_terminal(*words, "--output", "json", columns=20)
            answer = {"items": [NODE]} if words[1] == "list" else NODE
            self.assertEqual(json.loads(text), answer)

    def test_locales(self):
        """Case 147: the same bytes under any locale of the machine."""
        with tempfile.TemporaryDirectory() as folder:
            made = {"C", "C.UTF-8"}
            for name in ("tr_TR", "de_DE"):
                done = subprocess.run(
                    ["localedef", "-i", name, "-f", "UTF-8",
                     f"{folder}/{name}.UTF-8"], capture_output=True)
                if done.returncode == 0:
                    made.add(name + ".UTF-8")
            seen = set()
            for name in made:
                for words in (("nodes", "list", "--status", "adopted"),
                              ("nodes", "list", "--status", "ADOPTED"),
                              ("join-tokens", "create", "--pool", "p",
                               "--ttl", "1h30m", "--key", "I", "--max-uses",
                               "1.000")):
                    done = self.piped(*words, LC_ALL=name, LOCPATH=folder)
                    seen.add((words[-1], done.returncode, done.stdout,
                              done.stderr))
            self.assertEqual(len(seen), 3, seen)
            if "tr_TR.UTF-8" not in made:
                self.skipTest("localedef has no tr_TR: package locales")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    PROGRAMS = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
