#!/usr/bin/env python3
"""The API does what its OpenAPI document says: a public validator judges the
document, schemathesis calls every method with what it allows and what it
forbids (spec: DESIGN section 10).

  api_fuzz_test.py --bin FOLDER [--long] [UNITTEST ARGUMENTS]
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import unittest
import urllib.request

import harness
from api_document import with_closed_answers, with_known_inputs
from python_packages import run_with_packages

BASE = "/api/compute"
# An endless answer: tests/gateway has it.
STREAM = "events.stream"
LONG = False

# Not every input that fits its schema is accepted: the rest is said by what
# there is.
CONFIG = """
base-url = "{url}"
{limit}
max-failures = 20
continue-on-failure = true
request-timeout = 60
workers = 1

[auth.openapi]
bearer = {{ bearer = "${{FUZZ_BEARER}}" }}

[generation]
mode = "all"
max-examples = {examples}
no-shrink = true
database = "none"

# By an id that an answer named it would end what the others need.
[phases.coverage.extra-data-sources]
responses = false

[phases.fuzzing.extra-data-sources]
responses = false

[phases.stateful]
enabled = false

[checks]
positive_data_acceptance.enabled = false
use_after_free.enabled = false
ensure_resource_availability.enabled = false
# A method that no path has is refused before the path is looked at.
allow_header_conformance.enabled = false
negative_data_rejection.expected-statuses = ["4xx"]
"""


def call(url, bearer, method, **fields):
    request = urllib.request.Request(
        f"{url}{BASE}/{method.replace('.', '/')}",
        json.dumps(fields).encode(),
        {"content-type": "application/json",
         "authorization": f"Bearer {bearer}"})
    with urllib.request.urlopen(request, timeout=harness.WAIT) as answer:
        return json.loads(answer.read())


class World:
    """A deployment with something of each kind: what is to stay, and what may
    be ended."""

    def __init__(self, dev, machine):
        self.dev = dev
        self.bearer = (dev.data / "root-credential").read_text().strip()
        self.stays = self._make("stays")
        self.ends = self._make("ends")
        self.csr = self._refused_csr(machine)

    def must(self, method, **fields):
        return call(self.dev.url, self.bearer, method,
                    tenantId=self.dev.tenant, **fields)

    def _make(self, name):
        site = self.must("sites.create", name=name)["id"]
        pool = self.must("pools.create", siteId=self.dev.site,
                         name=name)["id"]
        # Of a pool that stays.
        token = self.must("joinTokens.create", poolId=self.dev.pool,
                          ttlSeconds=3600, maxUses=10, idempotencyKey=name)
        of_site = self.must("siteTokens.create", siteId=self.dev.site,
                            ttlSeconds=3600, idempotencyKey=name)
        credential = self.must("credentials.create", principal=name, grants=[
            {"action": "*", "resource": "*"}])
        return {"siteId": site, "poolId": pool, "tokenId": token["id"],
                "siteTokenId": of_site["id"],
                "credentialId": credential["id"],
                "tenantId": self.must("tenants.create", name=name)["id"]}

    def _refused_csr(self, machine):
        token = self.must("joinTokens.create", poolId=self.dev.pool,
                          ttlSeconds=3600, idempotencyKey="refused",
                          expect={"serial": "ANOTHER-1"})
        code, _, _ = machine.join(self.dev, token["token"])
        assert code != 0, "another machine's token admits"
        return self.dev.events("security.join.refused")[0]["data"]["csrSha256"]

    def known(self):
        """For with_known_inputs: what inputs name, and by which method what is
        ended."""
        nodes = [n["id"] for n in self.must("nodes.list")["items"]]
        assert len(nodes) > 2, nodes
        every = {"tenantId": [self.dev.tenant],
                 "forTenantId": [self.stays["tenantId"]],
                 "siteId": [self.dev.site], "poolId": [self.dev.pool],
                 "nodeId": nodes[1:], "tokenId": [self.stays["tokenId"]],
                 "credentialId": [self.stays["credentialId"]],
                 "csrSha256": [self.csr]}
        by_method = {
            "sites.delete": {"siteId": [self.ends["siteId"]]},
            "pools.archive": {"poolId": [self.ends["poolId"]]},
            "joinTokens.revoke": {"tokenId": [self.ends["tokenId"]]},
            "siteTokens.revoke": {"tokenId": [self.ends["siteTokenId"]]},
            "credentials.revoke": {
                "credentialId": [self.ends["credentialId"]]},
            "nodes.delete": {"nodeId": nodes[:1]},
            # They choose among nodes, and may choose none.
            "nodes.list": {"siteId": [], "poolId": []},
            # What the machine would claim.
            "joins.simulate": {"siteId": [], "nodeId": []},
            "nodes.revokeIdentity": {"nodeId": nodes[:1]},
        }
        return every, by_method


def answers_in(har):
    """{path: {status: how often}}"""
    found = collections.defaultdict(collections.Counter)
    for entry in json.loads(har.read_text())["log"]["entries"]:
        path = re.sub(r"^https?://[^/]+|[?].*$", "", entry["request"]["url"])
        found[path][entry["response"]["status"]] += 1
    return found


def problems_of(document):
    """What a validator of OpenAPI 3.1 finds."""
    # Not there before run_with_packages().
    from openapi_spec_validator import OpenAPIV31SpecValidator
    from referencing.exceptions import Unresolvable
    try:
        return [e.message
                for e in OpenAPIV31SpecValidator(document).iter_errors()]
    except Unresolvable as e:
        return [str(e)]


class ApiDocument(harness.Case):
    def setUp(self):
        super().setUp()
        self.server = self.dev("--sim", "3")
        with urllib.request.urlopen(f"{self.server.url}{BASE}/openapi.json",
                                    timeout=harness.WAIT) as answer:
            self.document = json.loads(answer.read())

    def test_a_validator_of_openapi_takes_it(self):
        self.assertEqual(problems_of(self.document), [])
        create = self.document["paths"][f"{BASE}/sites/create"]["post"]
        schemas = self.document["components"]["schemas"]
        # It judges.
        for place, name, value in [(self.document["info"], "version", None),
                                   (schemas, "site", None),
                                   (schemas["site"], "type", "place"),
                                   (create, "operationId", "sites.list"),
                                   (create["requestBody"], "required", "no")]:
            with self.subTest(name=name, value=value):
                kept = place.pop(name)
                if value:
                    place[name] = value
                self.assertNotEqual(problems_of(self.document), [])
                place[name] = kept

    def known_document(self, world):
        return with_known_inputs(with_closed_answers(self.document),
                                 *world.known())

    def run_schemathesis(self, world, document):
        """(exit code, what it printed, the answers it got)"""
        (self.folder / "openapi.json").write_text(json.dumps(document))
        (self.folder / "schemathesis.toml").write_text(CONFIG.format(
            # With a time it goes on until that is over.
            url=self.server.url, limit="max-time = 1800" if LONG else "",
            examples=1000 if LONG else 10))
        seed = random.randrange(2**32) if LONG else 1
        har = self.folder / "answers.har"
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "--no-color",
             "--config-file", self.folder / "schemathesis.toml", "run",
             "--seed", str(seed), "--warnings", "off",
             "--exclude-operation-id", STREAM,
             "--report", "har", "--report-har-path", har,
             self.folder / "openapi.json"],
            env=dict(os.environ, FUZZ_BEARER=world.bearer), cwd=self.folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, check=False,
            timeout=3600 if LONG else 600)
        return done.returncode, done.stdout, answers_in(har)

    def test_every_answer_is_one_the_document_has(self):
        world = World(self.server, self.machine("refused"))
        document = self.known_document(world)
        code, said, answers = self.run_schemathesis(world, document)
        self.assertEqual(code, 0, said)
        # It called every method, and not with nonsense alone.
        accepted = 0
        for path, item in document["paths"].items():
            if item.get("get", {}).get("operationId") == STREAM:
                continue
            if "{" not in path:
                self.assertTrue(answers[path], f"{path} was not called")
            accepted += answers[path][200] > 0
        self.assertGreater(accepted, len(document["paths"]) * 2 // 3, answers)
        self.assertEqual(self.server.process.poll(), None)

    def test_an_answer_the_document_lacks_is_found(self):
        world = World(self.server, self.machine("refused"))
        document = self.known_document(world)
        path = f"{BASE}/sites/list"
        document["paths"] = {path: document["paths"][path]}
        site = document["components"]["schemas"]["sites.list.answer"]
        del site["properties"]["items"]["items"]["properties"]["name"]
        code, said, _ = self.run_schemathesis(world, document)
        self.assertEqual(code, 1, said)
        self.assertIn("Response violates schema", said)


def main():
    global LONG
    run_with_packages("the API against its document")
    LONG = "--long" in sys.argv
    sys.argv = [a for a in sys.argv if a != "--long"]
    harness.main()


if __name__ == "__main__":
    main()
