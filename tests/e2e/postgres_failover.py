"""A primary with its hot standby, and connections that swallow what is sent."""
import select
import socket
import threading

from deployment import Postgres, free_port, wait_until


class Pair:
    """A primary and its synchronous standby, in the place of one Postgres; its
    URL names both."""

    def __init__(self):
        ports = free_port(), free_port()
        self.primary = Postgres("listen_addresses=127.0.0.1",
                                f"port={ports[0]}")
        try:
            self.standby = Postgres("listen_addresses=127.0.0.1",
                                    f"port={ports[1]}",
                                    standby_of=self.primary)
        except BaseException:
            self.primary.remove()
            raise
        # After the standby was made: it is not to wait for one of its own.
        self.primary.ask("alter system set synchronous_standby_names = '*'",
                         "select pg_reload_conf()")
        wait_until(lambda: self.primary.ask(
            "select coalesce(max(sync_state), '') from pg_stat_replication "
            "where state = 'streaming'") == "sync", "commits wait for it")
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports)
        self.url = f"postgres://postgres@{hosts}/postgres"

    def remove(self):
        self.standby.remove()
        self.primary.remove()


class Swallower:
    """A TCP proxy whose connections may go dumb: both ends stay, and neither
    hears of the other any more, as behind a network that drops packets."""

    def __init__(self, port):
        self.port, self._stop = port, threading.Event()
        self._dumb = set()  # of these connections' numbers
        self.count = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def swallow(self):
        """What goes over the connections there are now."""
        self._dumb = set(range(self.count))

    def close(self):
        self._stop.set()
        for t in self._threads:
            t.join()
        self._listener.close()

    def _accept(self):
        while not self._stop.is_set():
            if not select.select([self._listener], [], [], 0.1)[0]:
                continue
            client, _ = self._listener.accept()
            thread = threading.Thread(target=self._pump,
                                      args=(self.count, client))
            self.count += 1
            self._threads.append(thread)
            thread.start()

    def _pump(self, number, client):
        with client, socket.create_connection(
                ("127.0.0.1", self.port)) as server:
            other = {client: server, server: client}
            while not self._stop.is_set():
                for end in select.select(list(other), [], [], 0.1)[0]:
                    try:
                        data = end.recv(65536)
                    except OSError:
                        return
                    if number in self._dumb:
                        # An end that gives up is the last to tell.
                        if not data:
                            return
                    elif data:
                        other[end].sendall(data)
                    else:
                        return
