"""The completion scripts in a real bash and a real zsh."""
import argparse
import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = None
WAIT = 60


def script(shell):
    done = subprocess.run([PROGRAMS / "better-compute", "completion", shell],
                          capture_output=True, text=True, check=True)
    return done.stdout


class Bash(unittest.TestCase):
    def complete(self, *words, folder=None):
        """What bash offers for the last word."""
        quoted = " ".join("'" + w.replace("'", r"'\''") + "'" for w in words)
        code = script("bash") + f"""
            COMP_WORDS=(better-compute {quoted})
            COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _better_compute
            printf '%s\\n' "${{COMPREPLY[@]}}"
            """
        done = subprocess.run(["bash", "--norc", "--noprofile", "-u", "-c",
                               code], capture_output=True, text=True,
                              cwd=folder, timeout=WAIT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout.split()

    def test_commands(self):
        self.assertIn("join-tokens", self.complete(""))
        self.assertEqual(self.complete("join"),
                         ["join-tokens", "join-requests", "joins"])
        self.assertEqual(self.complete("nodes", "ado"), ["adopt"])
        self.assertEqual(self.complete("nodes", "zzz"), [])
        self.assertEqual(self.complete("completion", ""), ["bash", "zsh"])

    def test_options(self):
        self.assertEqual(self.complete("nodes", "list", "--po"), ["--pool"])
        self.assertEqual(self.complete("nodes", "get", "--uti"), [])
        self.assertEqual(self.complete("nodes", "get", "--ut"), ["--utc"])
        # After an option and its value, which may be a command's name.
        self.assertEqual(
            self.complete("nodes", "list", "--pool", "nodes", "--stat"),
            ["--status"])

    def test_values(self):
        self.assertEqual(self.complete("nodes", "list", "--output", ""),
                         ["table", "json"])
        # As readline splits --output=j.
        self.assertEqual(
            self.complete("nodes", "list", "--output", "=", "j"), ["json"])
        self.assertEqual(self.complete("nodes", "list", "--output", "="),
                         ["table", "json"])
        self.assertEqual(self.complete("nodes", "list", "--pool", ""), [])

    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "credential").touch()
            self.assertEqual(
                self.complete("nodes", "list", "--credential-file", "cred",
                              folder=folder), ["credential"])

    def test_registered(self):
        done = subprocess.run(
            ["bash", "--norc", "-c", script("bash") +
             "\ncomplete -p better-compute"],
            capture_output=True, text=True, timeout=WAIT)
        self.assertIn("-F _better_compute better-compute", done.stdout)

    def test_every_command(self):
        """Each command of --help is offered, however deep."""
        def commands(*path):
            text = subprocess.run(
                [PROGRAMS / "better-compute", *path, "--help"],
                capture_output=True, text=True, check=True).stdout
            _, _, rest = text.partition("Subcommands:\n")
            return re.findall(r"^  ([a-z-]+)\b", rest.partition("\n\n")[0],
                              re.MULTILINE)

        found = commands()
        self.assertGreater(len(found), 15)
        self.assertEqual(sorted(self.complete("")), sorted(found))
        for name in found:
            below = commands(name)
            if below:
                self.assertEqual(sorted(self.complete(name, "")),
                                 sorted(below))


class Screen:
    """An interactive shell on a terminal of its own."""

    def __init__(self, command, env, cwd):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], command, env)
        self.pid = pid
        self.text = ""

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, pattern):
        deadline = time.monotonic() + WAIT
        while time.monotonic() < deadline:
            if re.search(pattern, self.text):
                return
            ready, _, _ = select.select([self.fd], [], [], 1)
            if ready:
                try:
                    piece = os.read(self.fd, 65536)
                except OSError:
                    break
                self.text += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "",
                                    piece.decode(errors="replace"))
        raise AssertionError(f"no {pattern!r} in:\n{self.text}")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class Zsh(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        folder = pathlib.Path(self._folder.name)
        (folder / "_better-compute").write_text(script("zsh"))
        (folder / "credential").touch()
        (folder / ".zshrc").write_text(
            f"fpath=({folder} $fpath)\nautoload -Uz compinit\n"
            f"compinit -u -d {folder}/dump\nPS1='READY> '\nLISTMAX=1000\n"
            "unsetopt MENU_COMPLETE AUTO_MENU BEEP\nsetopt LIST_AMBIGUOUS\n"
            "unsetopt ZLE_BRACKETED_PASTE 2>/dev/null\n")
        env = dict(os.environ, ZDOTDIR=str(folder), TERM="vt100",
                   HOME=str(folder), COLUMNS="200", LINES="60")
        self.screen = Screen(["zsh", "-i"], env, folder)
        self.addCleanup(self.screen.close)
        self.screen.wait_for("READY> ")

    def typed(self, text):
        self.screen.text = ""
        self.screen.send(text)

    def test_commands_and_options(self):
        self.typed("better-compute nod\t")
        self.screen.wait_for(r"better-compute nodes\b")
        self.typed("ado\t")
        self.screen.wait_for(r"adopt\b")
        self.typed("--ut\t")
        self.screen.wait_for("--utc")

    def test_descriptions(self):
        self.typed("better-compute join-tokens \t\t")
        self.screen.wait_for(r"create\s+-- Mint a join token for a pool")
        self.screen.wait_for(r"revoke\s+-- Revoke a token at once")

    def test_values_and_files(self):
        self.typed("better-compute nodes list --output j\t")
        self.screen.wait_for("--output json")
        self.typed("--credential-file cred\t")
        self.screen.wait_for("--credential-file credential")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    options, rest = parser.parse_known_args()
    PROGRAMS = options.bin.resolve()
    unittest.main(argv=[sys.argv[0], *rest], verbosity=2)
