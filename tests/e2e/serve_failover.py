"""Postgres goes over to its standby, freezes, or is behind a network that drops
packets (the field cases 159, 161)."""
from crowd import Crowd
from deployment import Deployment, Postgres, free_port, wait_until
from harness import Machine
from postgres_failover import Pair, Swallower


class FailoverCases:
    """A part of ServeTest."""

    def deploy_on(self, postgres):
        """As deploy(), on such a Postgres."""
        self.d.remove()
        folder = self.folder / "deployment"
        folder.mkdir()
        self.d = Deployment(self.programs, folder, postgres)
        self.addCleanup(self.d.remove)

    def join_through(self, fail_over):
        """Machines join while the store goes over to its standby, and after;
        every join that was answered is there."""
        self.deploy_on(Pair)
        self.deploy()
        gateway = self.gateway("gw", self.api1, self.api2)
        token = self.d.token(self.api1, "crowd", 10_000)
        crowd = Crowd(self.folder, gateway, token["token"])
        try:
            self.let_join(crowd)
            fail_over(self.d.postgres)
            self.let_join(crowd)
            for api in (self.api1, self.api2):
                wait_until(api.is_ready, f"{api.name} is ready again")
        finally:
            crowd.stop()
        self.check_all_there(crowd, token)

    def test_a_standby_takes_over(self):
        """The primary is killed and its standby promoted (case 161)."""
        def fail_over(pair):
            pair.primary.stop("immediate")
            pair.standby.promote()
        self.join_through(fail_over)

    def test_a_standby_takes_over_from_a_frozen_primary(self):
        """The primary takes connections and answers nothing (case 161)."""
        def fail_over(pair):
            pair.primary.freeze()
            pair.standby.promote()
        self.join_through(fail_over)

    def test_what_a_network_swallows(self):
        """Every connection of one process to Postgres is dead and nobody says
        so: it hears of what the other decides all the same (case 161)."""
        port = free_port()
        self.deploy_on(lambda: Postgres("listen_addresses=127.0.0.1",
                                        f"port={port}"))
        proxy = Swallower(port)
        self.addCleanup(proxy.close)
        self.api1 = self.d.api("api-1")
        self.api2 = self.d.api(
            "api-2", store=f"postgres://postgres@{proxy.address}/postgres")
        self.d.make_pool(self.api1)
        through2 = self.gateway("gw-2", self.api2)
        token = self.d.token(self.api1, "some", 10)
        daemon = self.connected_daemon(through2, "first", token)
        before = proxy.count
        proxy.swallow()
        self.d.must(self.api1, "nodes/revokeIdentity", nodeId=daemon.node,
                    reason="stolen")
        # Its gateway has no other process to hear it from.
        daemon.wait_for(r"no session with the gateway: .*\(4403\)")
        self.assertGreater(proxy.count, before)
        wait_until(self.api2.is_ready, "ready again")
        code, _, err = Machine(self.folder / "second").join(through2,
                                                            token["token"])
        self.assertEqual(code, 0, err)
        self.d.verify()
