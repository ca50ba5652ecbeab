"""Machines that join and ask again until they are answered."""
import re
import threading
import time

from harness import Machine

# 3: unreachable, 8: the service cannot do it now. A machine asks again.
ASK_AGAIN = (3, 8)


def join_at_last(machine, gateway, token, limit=120):
    """(exit code, output, how often it asked again) of a machine that asks
    until it is answered."""
    deadline = time.monotonic() + limit
    retries = 0
    while True:
        code, out, err = machine.join(gateway, token)
        if code not in ASK_AGAIN or time.monotonic() > deadline:
            return code, out + err, retries
        retries += 1


class Crowd:
    """Machines that join one after the other, each until it is in, on threads
    of their own, until stop()."""

    def __init__(self, folder, gateway, token, threads=4):
        self.folder, self.gateway, self.token = folder, gateway, token
        self.joined, self.retries, self.broken = [], 0, []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(n,))
                         for n in range(threads)]
        for t in self._threads:
            t.start()

    def _run(self, thread):
        number = 0
        while not self._stop.is_set():
            number += 1
            self._one(Machine(self.folder / f"m{thread}-{number}"))

    def _one(self, machine):
        code, said, retries = join_at_last(machine, self.gateway, self.token)
        with self._lock:
            self.retries += retries
            if code == 0:
                self.joined.append(re.search(r"node_\w+", said)[0])
            else:
                self.broken.append((code, said))

    def count(self):
        with self._lock:
            return len(self.joined)

    def stop(self):
        self._stop.set()
        for t in self._threads:
            t.join()
