"""Test programs that need packages from elsewhere (ops/python.txt)."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77


def run_with_packages(what):
    """Goes on in an interpreter that has them. Where they cannot be had, says
    so and ends the program as skipped."""
    made = subprocess.run([ROOT / "ops/python"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    if made.returncode == 3:
        why = made.stderr.strip().removeprefix("ops/python: ")
        print(f"skipped: {what} ({why})")
        sys.exit(SKIPPED)
    if made.returncode:
        sys.exit(f"ops/python failed:\n{made.stderr}")
    python = made.stdout.strip()
    if sys.executable != python:
        os.execv(python, [python, *sys.argv])
