"""What operators see of a deployment: metrics, alerts, the dashboard, the
revocation list, and logs that tell no secret (docs/metrics.md,
docs/revocation.md)."""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from python_packages import run_with_packages

run_with_packages("parsing what /metrics says")

# pylint: disable=wrong-import-position
import yaml  # noqa: E402
from prometheus_client.parser import \
    text_string_to_metric_families  # noqa: E402

import harness  # noqa: E402
from deployment import ROOT, SECRET, Deployment, get, wait_until  # noqa: E402
from harness import Machine, Program  # noqa: E402

DOC = ROOT / "docs/metrics.md"
ALERTS = ROOT / "ops/prometheus/alerts.yaml"
DASHBOARD = ROOT / "ops/grafana/better-compute.json"
NAME = re.compile(r"\bbetter_compute_[a-z0-9_]+")
REQUEST = re.compile(r"req_[0-9a-z]{26}")


def documented():
    """{family: its labels}, as the page's tables have them."""
    rows = re.findall(r"^\| `(better_compute_\w+)(?:\{([^}]*)\})?`",
                      DOC.read_text(), re.M)
    return {name: set(filter(None, labels.split(",")))
            for name, labels in rows}


def samples_of(families):
    """Every name that an expression may use."""
    out = set()
    for name in families:
        out.add(name)
        if name.startswith("better_compute_journal_append_"):
            out |= {name + end for end in ("_bucket", "_sum", "_count")}
    return out


def parsed(text):
    """{family: it}; a text that is not what Prometheus takes is an error."""
    assert text.endswith("\n")
    typed, told = set(), set()
    for line in text.splitlines():
        kind, name = re.match(r"(# HELP |# TYPE |)([a-z0-9_]+)", line).groups()
        if kind:
            seen = typed if kind == "# TYPE " else told
            assert name not in seen, f"{line}: twice"
            seen.add(name)
    assert typed == told, "HELP and TYPE of each"
    families = {}
    for family in text_string_to_metric_families(text):
        # The parser takes the end off a counter's name.
        name = family.name + ("_total" if family.type == "counter" else "")
        assert name in typed, f"{name} has no type"
        assert family.documentation and family.type != "unknown"
        names = [(s.name, tuple(sorted(s.labels.items())))
                 for s in family.samples]
        assert len(set(names)) == len(names), f"{name}: a series twice"
        if family.type == "histogram":
            buckets = [s.value for s in family.samples
                       if s.name.endswith("_bucket")]
            assert buckets == sorted(buckets), f"{name}: buckets fall"
            count = [s.value for s in family.samples
                     if s.name.endswith("_count")]
            assert count == buckets[-1:], f"{name}: +Inf is the count"
        families[name] = family
    assert set(families) == typed
    return families


def value(families, name, **labels):
    for family in families.values():
        for s in family.samples:
            if s.name == name and s.labels == labels:
                return s.value
    return None


class FilesTest(unittest.TestCase):
    """What is shipped beside the program names what the program tells."""

    def test_alerts_use_metrics_that_are_told(self):
        known = samples_of(documented())
        groups = yaml.safe_load(ALERTS.read_text())["groups"]
        rules = [r for g in groups for r in g["rules"]]
        self.assertGreater(len(rules), 15)
        self.assertEqual(len({r["alert"] for r in rules}), len(rules))
        used = set()
        for rule in rules:
            names = set(NAME.findall(rule["expr"]))
            self.assertTrue(names or "up{" in rule["expr"], rule["alert"])
            self.assertLessEqual(names, known, rule["alert"])
            used |= names
            self.assertIn(rule["labels"]["severity"], ("page", "ticket"))
            self.assertTrue(rule["annotations"]["summary"])
            self.assertTrue(rule["annotations"]["action"])
            for label in re.findall(r"\b(\w+)=~?\"", rule["expr"]):
                self.assertTrue(label == "job" or any(
                    label in documented()[n] for n in names), rule["alert"])
        # What docs/deploy.md calls worth an alarm has one.
        deploy = set(re.findall(r"^\| `(better_compute_\w+)",
                                (ROOT / "docs/deploy.md").read_text(), re.M))
        self.assertLessEqual(deploy, used)
        if promtool := shutil.which("promtool"):
            subprocess.run([promtool, "check", "rules", ALERTS], check=True,
                           stdout=subprocess.DEVNULL)

    def test_the_dashboard_shows_metrics_that_are_told(self):
        known = samples_of(documented())
        board = json.loads(DASHBOARD.read_text())
        panels = [p for p in board["panels"] if p["type"] != "row"]
        self.assertEqual(len({p["id"] for p in board["panels"]}),
                         len(board["panels"]))
        shown = set()
        for panel in panels:
            self.assertTrue(panel["targets"], panel["title"])
            for target in panel["targets"]:
                names = set(NAME.findall(target["expr"]))
                self.assertTrue(names, panel["title"])
                self.assertLessEqual(names, known, panel["title"])
                shown |= names
        at = {(p["gridPos"]["x"], p["gridPos"]["y"]) for p in panels}
        self.assertEqual(len(at), len(panels), "panels over one another")
        self.assertIn("better_compute_joins_total", shown)


class OperateTest(harness.Case):
    def setUp(self):
        super().setUp()
        self.d = Deployment(self.programs, self.folder)
        self.addCleanup(self.d.remove)
        # All that there is to say.
        os.environ["BETTER_COMPUTE_LOG_LEVEL"] = "debug"
        self.addCleanup(os.environ.pop, "BETTER_COMPUTE_LOG_LEVEL")
        self.api = self.d.api("api")
        self.d.make_pool(self.api)
        self.gateway = self.d.gateway("gateway", [self.api])
        wait_until(self.gateway.is_ready, "the gateway has an API process")

    def tearDown(self):
        self.doCleanups()
        super().tearDown()

    def token(self, key, uses=1):
        return self.d.must(self.api, "joinTokens/create", poolId=self.d.pool,
                           ttlSeconds=600, maxUses=uses, idempotencyKey=key)

    def metrics(self, server):
        status, text = get(server.metrics_url + "/metrics")
        self.assertEqual(status, 200)
        if promtool := shutil.which("promtool"):
            subprocess.run([promtool, "check", "metrics"], input=text,
                           text=True, check=True, stdout=subprocess.DEVNULL)
        return parsed(text)

    def join(self, name, token, code=0):
        machine = Machine(self.folder / name)
        ended, out, err = machine.join(self.gateway, token)
        (self.folder / f"{name}.log").write_text(out + err)
        self.assertEqual(ended, code, err)
        return machine

    def run_node(self, machine, log):
        """`bcd node`, until the test ends."""
        with log.open("a") as to:
            node = Program([
                self.programs / "bcd-fakehw", "node", "--config",
                self.gateway.data / "bcd/config.toml", "--data-dir",
                machine.folder / "data", "--fake-hardware",
                machine.folder / "hardware.json"], log=to)
        self.addCleanup(lambda: node.process.poll() is None and node.kill())
        return node

    def test_metrics_are_what_the_page_says(self):
        token = self.token("m")
        machine = self.join("m", token["token"])
        self.join("n", token["token"], code=1)
        self.run_node(machine, self.folder / "node.log")
        wait_until(lambda: value(self.metrics(self.gateway),
                                 "better_compute_gateway_sessions") == 1,
                   "a session")
        wait_until(lambda: sum(
            s.value for s in self.metrics(self.api)[
                "better_compute_sessions"].samples) == 1, "it is counted")
        api, gateway = self.metrics(self.api), self.metrics(self.gateway)
        self.assertEqual(
            value(api, "better_compute_joins_total", outcome="admitted"), 1)
        self.assertEqual(
            value(api, "better_compute_joins_total", outcome="refused"), 1)
        self.assertEqual(value(
            api, "better_compute_refusals_total", attestor="join-token",
            reason="join-token:exhausted"), 1)
        self.assertEqual(
            value(api, "better_compute_nodes_expiring", within="6h"), 0)
        self.assertGreater(value(
            api, "better_compute_journal_append_batches_count"), 0)
        self.assertEqual(value(api, "better_compute_queue_limit",
                               queue="appends"), 8192)
        for name in ("apis", "healthy_apis", "watched"):
            self.assertEqual(
                value(gateway, f"better_compute_gateway_{name}"), 1)
        told = documented()
        # Kafka is another test's.
        kafka = {n for n in told if "_publisher_" in n}
        self.assertEqual(set(api) | set(gateway), set(told) - kafka)
        for families in (api, gateway):
            for name, family in families.items():
                labels = {label for s in family.samples for label in s.labels}
                self.assertEqual(labels - {"le"}, told[name], name)

    def test_no_secret_is_logged(self):
        """The canary: nothing that opens, proves or signs is in any log."""
        token = self.token("canary", uses=1)["token"]
        machine = self.join("m", token)
        # Refused ones say most.
        self.join("n", token, code=1)
        broken = token[:-1] + ("a" if token[-1] != "a" else "b")
        self.join("o", broken, code=1)
        node_log = self.folder / "node.log"
        self.run_node(machine, node_log)
        wait_until(lambda: value(self.metrics(self.gateway),
                                 "better_compute_gateway_sessions") == 1,
                   "a session")
        status, answer = self.d.call(self.api, "joinTokens/create",
                                     poolId=self.d.pool, ttlSeconds=1,
                                     idempotencyKey="x", surplus=token)
        self.assertEqual(status, 400, answer)
        secrets = {
            "token": token.split(".", 1)[1],
            "broken token": broken.split(".", 1)[1],
            "deployment secret": SECRET,
            "credential": self.d.credential.read_text().strip()
                              .split(".", 1)[1]}
        for file in self.folder.rglob("*"):
            if file.is_file() and (file.suffix == ".key" or
                                   file.name == "node.key"):
                lines = [line for line in file.read_text().splitlines()
                         if not line.startswith("-----")]
                # Its scalar as text and as bytes in base64.
                secrets[str(file)] = lines[0]
                der = base64.b64decode("".join(lines))
                at = der.index(b"\x04\x20") + 2
                secrets[f"{file} in hex"] = der[at:at + 32].hex()
        self.assertGreater(len(secrets), 8)
        logs = {f: f.read_text() for f in self.folder.rglob("*.log")}
        self.assertGreaterEqual(len(logs), 6)
        seals = 0
        for file, text in logs.items():
            for name, secret in secrets.items():
                self.assertNotIn(secret, text, f"{name} in {file}")
            # Nor what is sealed, signed or a key: no long base64 at all but
            # hashes and ids, which are shorter, and the store's checkpoints.
            for line in text.splitlines():
                self.assertNotRegex(line, r"-----BEGIN|eyJ[A-Za-z0-9_-]{20}",
                                    str(file))
                seals += "Bearer " in line
        self.assertEqual(seals, 0)

    def test_log_lines_of_a_request_name_it(self):
        """Each line about one request carries the id that its answer, its
        events and the audit have."""
        token = self.token("c")["token"]
        self.join("m", token)
        self.join("n", token, code=1)
        # A caller that is denied is logged and no event.
        made = self.d.must(self.api, "credentials/create", principal="bob",
                           grants=[{"action": "compute:nodes:read",
                                    "resource": "compute-node/*"}])
        denied = subprocess.run(
            ["curl", "-sS", "-D", "-", "-X", "POST", "-H",
             "authorization: Bearer " + made["credential"], "-d",
             json.dumps({"tenantId": self.d.tenant}),
             self.api.url + "/api/compute/sites/list"],
            capture_output=True, text=True, check=True, timeout=60).stdout
        self.assertIn("ACCESS_DENIED", denied)
        request = REQUEST.search(denied).group(0)
        wait_until(lambda: request in self.api.said(), "it is in the log")
        # A store that fails a call: the caller has only the id to go by.
        self.d.postgres.stop("immediate")
        failed = self.d.call(self.api, "sites/list")
        self.assertEqual(failed[0], 503, failed)
        self.d.postgres.start()
        wait_until(lambda: failed[1]["error"]["requestId"] in self.api.said(),
                   "the failed call is in the log")
        wait_until(self.api.is_ready, "ready again")
        about = [line for line in self.api.said().splitlines()
                 if re.search(r"\b(join|renew|session|api)\b.*"
                              r"(denied|refused|failed|lost)", line)]
        self.assertTrue(about)
        for line in about:
            self.assertRegex(line, REQUEST, "a line without its request")


if __name__ == "__main__":
    harness.main()
