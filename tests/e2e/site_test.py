"""A ramdisk joins by the word of the site agent that booted it: two agents that
contend for the boot lease, a person who approves, and a holder that dies in
between. With the real programs and real time; the network boot and the DHCP
server are a file."""
import json
import re
import shutil
import signal
import subprocess
import urllib.error
import urllib.request

from harness import WAIT, Case, Program, main

# Long enough: vouches need 10 s of it, also where a request for it is late.
LEASE = "30s"


class Agent:
    """A site agent's machine: configuration, data, what it prints."""

    def __init__(self, case, name, leases):
        self.case = case
        self.machine = case.machine(name)
        self.folder = self.machine.folder
        shutil.copytree(case.control.data / "bcd", self.folder / "etc")
        self.config = self.folder / "etc" / "config.toml"
        with self.config.open("a") as config:
            config.write("[site_agent]\nlisten = \"127.0.0.1:0\"\n"
                         f"leases_file = \"{leases}\"\n")
        self.program = None

    def command(self, name, *options):
        hardware = [] if name == "doctor" else \
            ["--fake-hardware", self.folder / "hardware.json"]
        return [self.case.programs / "bcd-fakehw", name, "--config",
                self.config, "--data-dir", self.folder / "data", *hardware,
                *options]

    def join(self, token):
        done = subprocess.run(self.command("join", "--role", "site"),
                              input=token, text=True, capture_output=True,
                              timeout=WAIT)
        self.case.assertEqual(done.returncode, 0, done.stderr)

    def start(self):
        self.program = Program(self.command("site"))
        self.case.started.append(self.program)
        self.node = self.program.wait_for(r"runs as (node_\w+)").group(1)
        self.url = self.program.wait_for(
            r"gives vouches at (http://\S+)").group(1)

    def stop(self):
        self.program.process.send_signal(signal.SIGTERM)
        self.case.assertEqual(self.program.process.wait(timeout=10), 0)

    def check(self, name):
        done = subprocess.run(self.command("doctor", "--output", "json"),
                              text=True, capture_output=True, timeout=WAIT)
        checks = json.loads(done.stdout)["checks"]
        return next(c for c in checks if c["check"] == name)

    def ask(self, mac):
        """The status and answer to a request for a vouch."""
        body = json.dumps({"csrSha256": "0" * 64, "claimsSha256": "1" * 64,
                           "mac": mac}).encode()
        try:
            with urllib.request.urlopen(self.url + "/v1/vouch", body,
                                        timeout=WAIT) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, json.load(refused)


class SiteCase(Case):
    """Two agents; the first one has the boot lease."""
    lease = LEASE

    def setUp(self):
        super().setUp()
        self.started = []
        self.ramdisk = self.machine("ramdisk")
        self.prepare()
        self.control = self.dev("--boot-lease", self.lease)
        self.leases = self.folder / "dnsmasq.leases"
        self.lend(self.ramdisk)
        token = self.control.json(
            "site-tokens", "create", "--site", self.control.site, "--ttl",
            "10m", "--max-uses", "2", "--key", "agents")["token"]
        self.agents = [Agent(self, f"agent-{i}", self.leases)
                       for i in range(2)]
        for agent in self.agents:
            agent.join(token)
            agent.start()
            if agent is self.agents[0]:
                agent.program.wait_for(r"holds the boot lease of .*, epoch 1$")
        first, second = self.agents
        second.program.wait_for(f"is held by {first.node}, epoch 1$")
        for agent in self.agents:
            agent.program.wait_for("connected to the gateway")

    def prepare(self):
        """Before the control plane runs."""

    def tearDown(self):
        # Before their folder goes.
        for program in self.started:
            program.kill()
        super().tearDown()

    def ramdisk_join(self, *options, role="ramdisk", data="data"):
        agents = [o for a in self.agents for o in ("--site-agent", a.url)]
        return [self.programs / "bcd-fakehw", "join", "--config",
                self.control.data / "bcd" / "config.toml", "--data-dir",
                self.ramdisk.folder / data, "--fake-hardware",
                self.ramdisk.folder / "hardware.json", "--attestor",
                "discovery", "--role", role, *agents, *options]

    def lend(self, machine):
        mac = machine.hardware["macs"][0]
        self.leases.write_text(f"0 {mac} 127.0.0.1 ramdisk *\n")


class Revoked(SiteCase):
    """The lease does not end while the test runs."""
    lease = "10m"

    def test_a_revoked_holder_has_lost_it(self):
        first, second = self.agents
        self.control.cli("nodes", "revoke-identity", first.node, "--reason",
                         "of a test", "--yes")
        second.program.wait_for(r"holds the boot lease of .*, epoch 2$")
        taken = self.control.events("site.boot-lease-acquired")[-1]["data"]
        self.assertEqual((taken["holder"], taken["previous"], taken["epoch"]),
                         (second.node, first.node, 2))


class WithToken(SiteCase):
    """A tool that boots machines has minted the ramdisk's token."""

    def prepare(self):
        control = self.dev()
        control.stop()
        folder = self.folder / "secrets"
        issued = control.issue("discovery", folder, "--mac",
                               self.ramdisk.hardware["macs"][0])
        self.token = folder / issued["id"]

    def test_a_ramdisk_joins_by_the_token_of_its_boot(self):
        done = subprocess.run(
            self.ramdisk_join("--no-wait", "--token-file", self.token),
            text=True, capture_output=True, timeout=WAIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        node = re.search(r"joined as (node_\w+)", done.stdout).group(1)
        shown = self.control.json("nodes", "get", node)
        self.assertEqual((shown["attestor"], shown["poolId"]),
                         ("discovery", self.control.pool))
        self.assertFalse(self.token.exists())


class Site(SiteCase):
    def test_wrong_usage(self):
        for command, said in [
                (self.ramdisk_join(role="node"), "is for --role ramdisk"),
                (self.ramdisk_join("--site-agent", self.agents[0].url),
                 "one agent twice"),
                (self.ramdisk_join("--site-agent", "https://10.0.0.2"),
                 "http://HOST")]:
            done = subprocess.run(command, text=True, capture_output=True,
                                  timeout=WAIT)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(said, done.stderr)
        self.assertFalse((self.ramdisk.folder / "data").exists())
        # A node is no agent.
        token = self.control.token("node")["token"]
        code, _, err = self.ramdisk.join(self.control, token)
        self.assertEqual(code, 0, err)
        done = subprocess.run(
            [self.programs / "bcd", "site", "--config",
             self.control.data / "bcd" / "config.toml", "--data-dir",
             self.ramdisk.folder / "data"], text=True, capture_output=True,
            timeout=WAIT)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("has the role node, and this command is for the role "
                      "site", done.stderr)

    def approved(self, data):
        """The node of a ramdisk that comes back after its approval."""
        command = self.ramdisk_join("--no-wait", data=data)
        done = subprocess.run(command, text=True, capture_output=True,
                              timeout=WAIT)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.control.cli("join-requests", "approve", self.request()["id"],
                         "--pool", self.control.pool, "--reason", "B7")
        done = subprocess.run(command, text=True, capture_output=True,
                              timeout=WAIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return re.search(r"joined as (node_\w+)", done.stdout).group(1)

    def test_a_ramdisk_that_boots_again_is_the_same_node(self):
        first = self.approved("data")
        before = self.control.json("nodes", "get", first)
        # Nothing is left of the first boot.
        self.assertEqual(self.approved("data-2"), first)
        after = self.control.json("nodes", "get", first)
        self.assertEqual(after["identityGeneration"],
                         before["identityGeneration"] + 1)

    def request(self):
        found = self.control.json("join-requests", "list", "--pool",
                                  self.control.pool)
        items = found["items"] if isinstance(found, dict) else found
        self.assertEqual(len(items), 1, items)
        return items[0]

    def test_approved_after_a_failover(self):
        first, second = self.agents
        mac = self.ramdisk.hardware["macs"][0]
        self.assertEqual(first.check("boot-lease")["status"], "ok")
        self.assertIn(f"{first.node} holds it, epoch 1",
                      second.check("boot-lease")["message"])

        join = Program(self.ramdisk_join())
        self.started.append(join)
        request = join.wait_for(
            r"a person must approve this machine first: request (jreq_\w+)"
        ).group(1)
        first.program.wait_for(f"vouched for {mac} at 127.0.0.1")
        seen = self.request()
        self.assertEqual(seen["id"], request)
        self.assertEqual(seen["attestor"], "discovery")
        self.assertEqual(seen["mac"], mac)
        self.assertEqual(seen["ip"], "127.0.0.1")
        self.assertEqual(seen["vouchedBy"], first.node)
        self.assertEqual(seen["bootLeaseEpoch"], 1)

        # The holder dies with the lease in its hand; the other waits it out.
        first.program.kill()
        second.program.wait_for(r"holds the boot lease of .*, epoch 2$")
        self.control.cli("join-requests", "approve", request, "--pool",
                         self.control.pool, "--ttl", "600", "--reason", "B7")
        joined = join.wait_for(r"joined as (node_\w+)").group(1)
        self.assertEqual(join.process.wait(timeout=WAIT), 0)
        second.program.wait_for(f"vouched for {mac} at 127.0.0.1")
        told = [e["data"] for e in self.control.events("node.joined")
                if e["data"]["nodeId"] == joined]
        self.assertEqual([t["attestor"] for t in told], ["discovery"])
        node = self.control.json("nodes", "get", joined)
        self.assertEqual(node["poolId"], self.control.pool)
        self.assertEqual(node["attestor"], "discovery")

        # It lives as any node does.
        running = Program([self.programs / "bcd-fakehw", "node", "--config",
                           self.control.data / "bcd" / "config.toml",
                           "--data-dir", self.ramdisk.folder / "data",
                           "--fake-hardware",
                           self.ramdisk.folder / "hardware.json"])
        self.started.append(running)
        running.wait_for("connected to the gateway")

        # An agent that ends gives the lease back, for the other to have it.
        first.start()
        first.program.wait_for(f"is held by {second.node}, epoch 2$")
        second.stop()
        self.assertIn("bcd: gave the boot lease back",
                      "\n".join(self.rest_of(second.program)))
        first.program.wait_for(r"holds the boot lease of .*, epoch 3$")

    @staticmethod
    def rest_of(program):
        """All lines of a program that has ended."""
        try:
            program.wait_for("$^")
        except AssertionError:
            pass
        return program.lines

    def test_who_is_not_vouched_for(self):
        first, second = self.agents
        mac = self.ramdisk.hardware["macs"][0]
        status, answer = second.ask(mac)
        self.assertEqual((status, answer["code"]), (503, "boot-lease"))
        status, answer = first.ask("02:00:00:00:00:01")
        self.assertEqual((status, answer["code"]), (403, "mac"))
        self.leases.write_text("")
        status, answer = first.ask(mac)
        self.assertEqual((status, answer["code"]), (403, "dhcp-lease"))
        self.leases.write_text("torn")
        status, answer = first.ask(mac)
        self.assertEqual((status, answer["code"]), (503, "leases"))
        self.assertEqual(first.check("dhcp-leases")["status"], "failed")
        done = subprocess.run(self.ramdisk_join("--no-wait"), text=True,
                              capture_output=True, timeout=WAIT)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no site agent vouches: ", done.stderr)
        self.assertIn(f"{first.url} says leases", done.stderr)
        self.assertIn(f"{second.url} says boot-lease", done.stderr)

        # Once it is mended: a rejection ends what waits.
        self.lend(self.ramdisk)
        done = subprocess.run(self.ramdisk_join("--no-wait"), text=True,
                              capture_output=True, timeout=WAIT)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("a person must approve", done.stderr)
        self.control.cli("join-requests", "reject", self.request()["id"],
                         "--pool", self.control.pool, "--reason", "unknown")
        done = subprocess.run(self.ramdisk_join("--no-wait"), text=True,
                              capture_output=True, timeout=WAIT)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("Join refused", done.stderr)
        self.wait_until(lambda: "discovery:rejected" in {
            e["data"]["reason"]
            for e in self.control.events("security.join.refused")})

        # An agent whose identity was revoked vouches for nobody.
        self.control.cli("nodes", "revoke-identity", first.node, "--reason",
                         "lost", "--yes")
        first.program.wait_for("the server does not let this agent have it")
        self.assertEqual(first.ask(mac)[0], 503)


if __name__ == "__main__":
    main()
