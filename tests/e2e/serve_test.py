"""Two API processes on one Postgres behind gateways (spec: DESIGN sections 3
and 7; the field cases 157, 159, 161, 162, 180)."""
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time
import unittest

import harness
from crowd import Crowd, join_at_last
from deployment import ROOT, Deployment, get, wait_until
from harness import Machine, Program
from serve_failover import FailoverCases
from serve_certificates import CertificateCases
from serve_kafka import KafkaCases

PARALLEL_JOINS = 300
MAX_USES = 100
REFUSALS_A_MINUTE = 60


def obeys_later(pid, number):
    """True once the process holds the signal back to take it by itself."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    blocked = int(re.search(r"SigBlk:\s*(\w+)", status)[1], 16)
    return bool(blocked >> (number - 1) & 1)


class ServeTest(CertificateCases, FailoverCases, KafkaCases, harness.Case):
    def setUp(self):
        super().setUp()
        self.d = Deployment(self.programs, self.folder)
        self.addCleanup(self.d.remove)

    def tearDown(self):
        # What runs ends before its folder goes.
        self.doCleanups()
        super().tearDown()

    def deploy(self, *options):
        """Two API processes, a pool, and nothing that joins yet."""
        self.api1 = self.d.api("api-1", *options)
        self.api2 = self.d.api("api-2", *options)
        self.d.make_pool(self.api1)

    def gateway(self, name, *apis):
        gateway = self.d.gateway(name, apis)
        wait_until(gateway.is_ready, f"{name} has an API process")
        return gateway

    def connected_daemon(self, gateway, name, token):
        """A machine that joined, its daemon running until the test ends and
        its session begun; `node` is its id."""
        machine = Machine(self.folder / name)
        code, out, err = machine.join(gateway, token["token"])
        self.assertEqual(code, 0, err)
        daemon = Program([
            self.programs / "bcd-fakehw", "node", "--config",
            gateway.data / "bcd" / "config.toml", "--data-dir",
            machine.folder / "data"])
        self.addCleanup(daemon.kill)
        daemon.wait_for("connected to the gateway")
        daemon.node = re.search(r"node_\w+", out).group()
        return daemon

    def nodes(self, api):
        return {n["id"] for n in self.d.items(api, "nodes/list")}

    def uses_left(self, api, token):
        tokens = self.d.items(api, "joinTokens/list", poolId=self.d.pool,
                              includeInactive=True)
        return next(t["usesLeft"] for t in tokens if t["id"] == token["id"])

    def refusals(self):
        return self.d.events(self.api1, "security.join.refused")

    def test_one_token_through_both(self):
        """300 machines at once, half through each process: exactly maxUses
        nodes."""
        self.deploy()
        gateways = [self.gateway("gw-1", self.api1),
                    self.gateway("gw-2", self.api2)]
        token = self.d.token(self.api1, "crowd", MAX_USES)
        machines = [Machine(self.folder / f"m{n}")
                    for n in range(PARALLEL_JOINS)]
        with concurrent.futures.ThreadPoolExecutor(PARALLEL_JOINS) as pool:
            codes = list(pool.map(
                lambda n: join_at_last(machines[n], gateways[n % 2],
                                       token["token"])[0],
                range(PARALLEL_JOINS)))
        self.assertEqual(codes.count(0), MAX_USES)
        self.assertEqual(codes.count(1), PARALLEL_JOINS - MAX_USES)
        self.assertEqual(self.uses_left(self.api2, token), 0)
        self.assertEqual(len(self.nodes(self.api1)), MAX_USES)
        # Both took part, and 200 refusals left no more events than a minute
        # may have (case 137).
        for n in (0, 1):
            self.assertGreater(codes[n::2].count(0), 0)
        wait_until(lambda: len(self.refusals()) > 0, "a refusal's event")
        time.sleep(2)
        times = sorted(datetime.datetime.fromisoformat(e["time"])
                       for e in self.refusals())
        for first, beyond in zip(times, times[REFUSALS_A_MINUTE:]):
            self.assertGreaterEqual((beyond - first).total_seconds(), 59)
        self.d.verify()

    def test_a_token_is_issued_beside_the_servers(self):
        """On the store itself, for a tool that deploys machines."""
        self.deploy()
        gateway = self.gateway("gw", self.api1)
        folder = self.folder / "secrets"
        issued = json.loads(self.d.tool(
            "join-tokens", "issue", "--role", "provisioned", "--pool",
            self.d.pool, "--ttl", "10m", "--store", self.d.store,
            "--secrets-dir", folder, "--output", "json"))
        code, _, err = Machine(self.folder / "deployed").join(
            gateway, (folder / issued["id"]).read_text())
        self.assertEqual(code, 0, err)
        wait_until(lambda: len(self.nodes(self.api2)) == 1, "the node")

    def test_what_one_decides_the_other_knows(self):
        self.deploy()
        through2 = self.gateway("gw-2", self.api2)
        token = self.d.token(self.api1, "once", 10)
        machine = Machine(self.folder / "first")
        self.assertEqual(machine.join(through2, token["token"])[0], 0)

        # Revoked at one, refused by the other at once.
        self.d.must(self.api1, "joinTokens/revoke", poolId=self.d.pool,
                    tokenId=token["id"])
        code, _, _ = Machine(self.folder / "second").join(through2,
                                                          token["token"])
        self.assertEqual(code, 1)
        wait_until(lambda: [e["data"]["reason"] for e in self.refusals()] ==
                   ["join-token:revoked"], "the refusal's reason")

        # One idempotency key at both at once: one token.
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(
                lambda n: self.d.call([self.api1, self.api2][n % 2],
                                      "joinTokens/create",
                                      poolId=self.d.pool, ttlSeconds=600,
                                      idempotencyKey="same"), range(8)))
        self.assertEqual({status for status, _ in answers}, {200}, answers)
        self.assertEqual(len({a["id"] for _, a in answers}), 1)
        self.d.verify()

    def test_every_process_may_be_killed(self):
        """kill -9 of each in turn while machines join: every accepted join is
        in the journal, every machine gets in."""
        self.deploy()
        gateway = self.gateway("gw", self.api1, self.api2)
        token = self.d.token(self.api1, "crowd", 10_000)
        crowd = Crowd(self.folder, gateway, token["token"])
        try:
            self.let_join(crowd)
            for victim in (self.api1, self.api2, gateway):
                victim.kill()
                if victim is not gateway:
                    # The other one goes on alone.
                    self.let_join(crowd)
                victim.start()
                self.let_join(crowd)
            self.d.postgres.stop("immediate")
            time.sleep(2)
            self.d.postgres.start()
            self.let_join(crowd)
            for api in (self.api1, self.api2):
                wait_until(api.is_ready, f"{api.name} is ready again")
        finally:
            crowd.stop()
        self.check_all_there(crowd, token)

    def test_sessions_outlive_a_killed_server(self):
        """kill -9 of each API process in turn, so also of the one that tells
        the gateway what happens: no session is lost, and what the other
        revokes meanwhile is cut (issue 5)."""
        self.deploy()
        gateway = self.gateway("gw", self.api1, self.api2)
        token = self.d.token(self.api1, "sessions", 10)
        daemons = [self.connected_daemon(gateway, name, token)
                   for name in ("first", "second", "stays")]
        for daemon, victim, other in zip(daemons, (self.api1, self.api2),
                                         (self.api2, self.api1)):
            victim.kill()
            self.d.must(other, "nodes/revokeIdentity", nodeId=daemon.node,
                        reason="stolen")
            # By this one's word: whoever loses a session for another reason
            # hears of going away.
            daemon.wait_for(r"no session with the gateway: .*\(4403\)")
            wait_until(lambda: any(
                e["data"]["nodeId"] == daemon.node and
                e["data"]["reason"] == "cut"
                for e in self.d.events(other, "node.disconnected")),
                "the end of its session is in the journal")
            victim.start()
            wait_until(victim.is_ready, f"{victim.name} is ready again")
        stays = daemons[-1]
        connected = [e for e in self.d.events(self.api1, "node.connected")
                     if e["data"]["nodeId"] == stays.node]
        self.assertEqual(len(connected), 1, stays.lines)
        stays.process.send_signal(signal.SIGTERM)
        self.assertEqual(stays.process.wait(timeout=10), 0)
        self.d.verify()

    def test_a_graceful_restart_loses_nothing(self):
        """SIGTERM under load, each process in turn (case 180)."""
        self.deploy()
        gateway = self.gateway("gw", self.api1, self.api2)
        token = self.d.token(self.api1, "crowd", 10_000)
        crowd = Crowd(self.folder, gateway, token["token"])
        try:
            for victim in (self.api1, self.api2, gateway):
                self.let_join(crowd)
                self.assertEqual(victim.stop(), 0)
                victim.start()
            self.let_join(crowd)
        finally:
            crowd.stop()
        self.check_all_there(crowd, token)

    def test_a_stop_ends_while_the_store_hangs(self):
        """SIGTERM is obeyed while Postgres answers nothing, by a process that
        serves and by one that starts (case 180)."""
        self.deploy()
        self.d.postgres.freeze()
        wait_until(lambda: not self.api1.is_ready(),
                   "not ready while the store hangs")
        starting = subprocess.Popen(
            self.api2.command, env={**os.environ, **self.d.env},
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(starting.wait)
        self.addCleanup(starting.kill)
        wait_until(lambda: obeys_later(starting.pid, signal.SIGTERM),
                   "it looks after its signals")
        starting.terminate()
        _, said = starting.communicate(timeout=60)
        self.assertEqual(starting.returncode, 0, said)
        self.assertIn("stopped while starting", said)
        # A second signal, while it stops, ends a process at once.
        stopping = self.api2.process
        stopping.terminate()
        wait_until(lambda: "stopping" in self.api2.said(), "it stops")
        stopping.terminate()
        self.assertEqual(stopping.wait(timeout=30), -signal.SIGTERM)
        # One is enough: within 20 s by its own bound, 30 s by the unit's.
        self.assertEqual(self.api1.stop(), 0)
        self.d.postgres.thaw()
        self.api2.start()
        wait_until(self.api2.is_ready, "ready again")
        self.d.verify()

    def let_join(self, crowd):
        before = crowd.count()
        wait_until(lambda: crowd.count() >= before + 5 or crowd.broken,
                   "machines join", limit=120)
        self.assertEqual(crowd.broken, [])

    def check_all_there(self, crowd, token):
        self.assertEqual(crowd.broken, [])
        self.assertEqual(len(set(crowd.joined)), len(crowd.joined))
        joined = set(crowd.joined)
        for api in (self.api1, self.api2):
            wait_until(lambda: self.nodes(api) >= joined,
                       f"{api.name} lists every node")
        # A machine that was answered late was answered the same: no machine
        # is two nodes, no use was spent twice.
        self.assertEqual(self.nodes(self.api1), joined)
        self.assertEqual(self.uses_left(self.api1, token),
                         10_000 - len(joined))
        print(f"{len(joined)} machines joined, {crowd.retries} retries")
        self.d.verify()

    def test_health_tells_the_truth(self):
        self.deploy()
        for api in (self.api1, self.api2):
            wait_until(api.is_ready, f"{api.name} is ready")
        holder = self.holder()
        other = self.api2 if holder is self.api1 else self.api1
        holder.kill()
        wait_until(lambda: other.metric("better_compute_lease_held") == 1,
                   "the other takes over")
        self.d.postgres.stop("immediate")
        wait_until(lambda: not other.is_ready(), "not ready without a store")
        self.assertEqual(get(other.url + "/healthz")[0], 200)
        self.d.postgres.start()
        wait_until(other.is_ready, "ready again")

    def holder(self):
        """The process that does the background duties."""
        def now():
            return [a for a in (self.api1, self.api2)
                    if a.metric("better_compute_lease_held") == 1]
        wait_until(lambda: len(now()) == 1, "one holder of the lease")
        return now()[0]

    def test_serve_says_what_is_missing(self):
        folder = tempfile.mkdtemp(dir=self.folder)
        store = f"sqlite:{folder}/journal.db"
        serve = ("serve", "--store", store, "--api-port", "0", "--relay-port",
                 "0")
        self.assertIn("better-compute migrate", self.d.tool(*serve, code=1))
        self.d.tool("migrate", "--store", store)
        self.assertIn("better-compute pki init", self.d.tool(*serve, code=1))
        self.d.tool("pki", "init", "--store", store, "--trust-domain",
                    "compute.example.com")
        self.assertIn("better-compute credentials bootstrap",
                      self.d.tool(*serve, code=1))
        bootstrap = ("credentials", "bootstrap", "--store", store, "--out")
        self.d.tool(*bootstrap, f"{folder}/credential")
        self.assertIn("ALREADY_EXISTS",
                      self.d.tool(*bootstrap, f"{folder}/second", code=1))
        again = ("credentials", "bootstrap", "--again", "--store", store,
                 "--out")
        self.d.tool(*again, f"{folder}/second")
        self.assertIn("ALREADY_EXISTS",
                      self.d.tool(*again, f"{folder}/second", code=1))
        self.assertIn("does not open", self.d.tool(
            *serve, code=1,
            env={"BETTER_COMPUTE_SECRET": "another secret, as long"}))
        self.assertIn("api.prot", self.d.tool(
            "serve", "--config", self.write("bad.toml", "[api]\nprot = 1\n"),
            code=2))

    def test_serve_warns_of_an_unchecked_way_to_the_store(self):
        """Hosts that a service of libpq's names may be anywhere."""
        warned = "nobody checks that it is the store"
        near = self.d.api("near")
        self.assertEqual(near.stop(), 0)
        self.assertNotIn(warned, near.said())
        self.d.env["PGSERVICEFILE"] = str(self.write(
            "services", "[store]\nuser=postgres\ndbname=postgres\n"
            f"host={self.d.postgres.data}\n"))
        far = self.d.api("far", store="postgres://?service=store")
        self.assertEqual(far.stop(), 0)
        self.assertEqual(far.said().count(warned), 1)
        self.assertIn("sslmode=verify-full", far.said())

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


if __name__ == "__main__":
    harness.main()
