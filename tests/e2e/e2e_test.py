"""The operator's path with the real programs, as ops/run starts them."""
import http.client
import json
import os
import re
import stat
import subprocess
import unittest.mock
import urllib.parse

from harness import Case, Dev, Machine, main, new_hardware


class EndToEnd(Case):
    @staticmethod
    def but_sessions(nodes):
        for node in nodes["items"]:
            for field in ("connected", "connectedAt", "lastSession"):
                node.pop(field, None)
        return nodes

    def test_first_day(self):
        """Simulated machines, a token, a real join, a refusal, a restart."""
        dev = self.dev("--sim", "3")
        dev.wait_for("Try in another terminal")
        joined = dev.json("nodes", "list")["items"]
        self.assertEqual(len(joined), 3)
        self.assertEqual({n["status"] for n in joined}, {"adopted"})

        out = self.folder / "join-token"
        record = dev.token("first", "--out", str(out))
        self.assertNotIn("token", record)
        self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o600)
        self.assertIn("ALREADY_EXISTS", dev.cli(
            "join-tokens", "create", "--pool", dev.pool, "--ttl", "10m",
            "--key", "other", "--out", str(out), code=1))
        self.assertIn("INVALID_STATE", dev.cli(
            "join-tokens", "create", "--pool", dev.pool, "--ttl", "10m",
            "--key", "first", "--out", str(self.folder / "again"), code=1))
        self.assertFalse((self.folder / "again").exists())

        machine = self.machine("m1")
        code, printed, err = machine.join(dev, out.read_text())
        self.assertEqual(code, 0, err)
        self.assertRegex(printed, r"node_[0-9a-z]{26}")
        data = machine.folder / "data"
        self.assertEqual(stat.S_IMODE(data.stat().st_mode), 0o700)
        for name in ("identity.json", "node.key"):
            self.assertEqual(stat.S_IMODE((data / name).stat().st_mode),
                             0o600)
        code, printed, err = machine.join(dev, "")
        self.assertEqual(code, 0, err)
        self.assertIn("already", printed)

        # The token has no use left; the refusal tells the machine nothing.
        code, printed, err = self.machine("m2").join(dev, out.read_text())
        self.assertEqual(code, 1)
        self.assertIn("Join refused", err)
        self.assertNotIn("exhausted", err)
        self.wait_until(lambda: any(
            e["data"]["reason"] == "join-token:exhausted"
            for e in dev.events("security.join.refused")))
        self.assertEqual(len(dev.json("nodes", "list")["items"]), 4)

        live = dev.json("join-tokens", "list", "--pool", dev.pool)["items"]
        self.assertNotIn(record["id"], [t["id"] for t in live])
        everything = dev.json("join-tokens", "list", "--pool", dev.pool,
                              "--all")["items"]
        self.assertIn(record["id"], [t["id"] for t in everything])

        # The simulated machines keep sessions, as long as they are simulated.
        self.wait_until(lambda: sum(
            n["connected"] for n in dev.json("nodes", "list")["items"]) == 3)
        before = dev.json("nodes", "list")
        dev.stop()
        again = self.dev()
        self.assertEqual(again.tenant, dev.tenant)
        self.assertEqual(self.but_sessions(again.json("nodes", "list")),
                         self.but_sessions(before))
        again.stop()

    def test_revoked_token(self):
        dev = self.dev()
        record = dev.token("revoked")
        revoked = dev.json("join-tokens", "revoke", record["id"], "--pool",
                           dev.pool)
        self.assertIn("revokedAt", revoked)
        again = dev.json("join-tokens", "revoke", record["id"], "--pool",
                         dev.pool)
        self.assertEqual(again["revokedAt"], revoked["revokedAt"])
        self.assertEqual(len(dev.events("security.join-token.revoked")), 1)
        code, _, err = self.machine("m").join(dev, record["token"])
        self.assertEqual((code, "Join refused" in err), (1, True), err)

    def test_pasted_token_is_never_sent(self):
        """Case 4: revoke refuses a whole token before any request."""
        done = subprocess.run(
            [self.programs / "better-compute", "join-tokens", "revoke",
             "bcjt_jt_01k5w.SECRETSECRET", "--pool", "pool_x", "--tenant",
             "ten_x", "--url", "http://127.0.0.1:9"],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 2)
        self.assertNotIn("SECRETSECRET", done.stdout + done.stderr)

    def test_one_token_for_many(self):
        """200 parallel joins on 50 uses: 50 nodes, 150 refusals."""
        dev = self.dev()
        token = dev.token("many", "--max-uses", "50")["token"]
        machines = [self.machine(f"m{i}") for i in range(200)]
        joins = [m.start_join(dev, token) for m in machines]
        codes = []
        for process in joins:
            process.communicate(timeout=120)
            codes.append(process.returncode)
        self.assertEqual(codes.count(0), 50, codes)
        self.assertEqual(codes.count(1), 150, codes)
        self.assertEqual(len(dev.json("nodes", "list")["items"]), 50)
        token_row = [t for t in dev.json("join-tokens", "list", "--pool",
                                         dev.pool, "--all")["items"]
                     if t["maxUses"] == 50][0]
        self.assertEqual(token_row["usesLeft"], 0)

    def test_same_machine_twice(self):
        """A known machine with another key is refused, never a second node."""
        dev = self.dev()
        hardware = new_hardware()
        token = dev.token("twice", "--max-uses", "5")["token"]
        first = self.machine("a", hardware).join(dev, token)
        self.assertEqual(first[0], 0, first)
        second = self.machine("b", hardware).join(dev, token)
        self.assertEqual(second[0], 1, second)
        self.assertEqual(len(dev.json("nodes", "list")["items"]), 1)
        self.wait_until(lambda: any(
            e["data"]["reason"] == "join:reclaim"
            for e in dev.events("security.join.refused")))

    def test_reclaim(self):
        """Case 63: a machine that was reinstalled takes its node back."""
        dev = self.dev()
        hardware = new_hardware()
        first = self.machine("a", hardware).join(dev, dev.token("a")["token"])
        self.assertEqual(first[0], 0, first)
        [before] = dev.json("nodes", "list")["items"]
        token = dev.token("b", "--allow-reclaim")["token"]
        second = self.machine("b", hardware).join(dev, token)
        self.assertEqual(second[0], 0, second)
        [after] = dev.json("nodes", "list")["items"]
        self.assertEqual(after["id"], before["id"])
        self.assertIn(after["id"], second[1])
        self.assertEqual(
            [e["data"]["reclaim"] for e in dev.events("node.joined")],
            [False, True])
        [revoked] = dev.events("security.certificate-revoked")
        self.assertEqual(revoked["data"]["reason"], "reclaimed")
        self.assertEqual(revoked["data"]["identityGeneration"], 1)

    def test_reset(self):
        """Case 69: a machine whose identity was revoked, and then deleted,
        joins anew only when told to set the old one aside."""
        dev = self.dev()
        machine = self.machine("m")
        data = machine.folder / "data"
        first = machine.join(dev, dev.token("first")["token"])
        self.assertEqual(first[0], 0, first)
        [node] = dev.json("nodes", "list")["items"]
        self.assertNotIn("--reset", first[1])
        old = {name: (data / name).read_bytes()
               for name in ("identity.json", "node.key")}
        dev.cli("nodes", "revoke-identity", node["id"], "--yes")

        record = dev.token("back", "--allow-reclaim")
        code, out, err = machine.join(dev, record["token"])
        self.assertEqual(code, 0, err)
        self.assertIn(f"already joined as {node['id']}", out)
        self.assertIn("bcd join --reset --yes", out)
        code, out, err = machine.join(dev, record["token"],
                                      options=["--reset"])
        self.assertEqual((code, out), (2, ""), err)
        self.assertIn("node.key, identity.json", err)
        self.assertIn(str(data), err)
        code, _, err = machine.join(dev, record["token"], options=["--yes"])
        self.assertEqual(code, 2, err)
        reset = ["--reset", "--yes"]
        code, _, err = machine.join(dev, "bcjt_typo", options=reset)
        self.assertEqual(code, 2, err)
        self.assertEqual(list(data.glob("*.reset-*")), [])
        self.assertEqual(self.uses_left(dev, record), 1)

        code, out, err = machine.join(dev, record["token"], options=reset)
        self.assertEqual(code, 0, err)
        self.assertIn(f"joined as {node['id']}", out)
        [suffix] = re.findall(r"named \*(\.reset-\d{8}T\d{6}Z)$", out, re.M)
        for name, content in old.items():
            self.assertEqual((data / (name + suffix)).read_bytes(), content)
            self.assertNotEqual((data / name).read_bytes(), content)
        again = dev.json("nodes", "get", node["id"])
        self.assertEqual(again["identityGeneration"], 2)
        self.assertEqual(self.uses_left(dev, record), 0)
        self.assertEqual(len(dev.json("nodes", "list")["items"]), 1)

        dev.cli("nodes", "cordon", node["id"])
        dev.cli("nodes", "delete", node["id"], "--yes")
        token = dev.token("anew")["token"]
        self.assertIn("already joined", machine.join(dev, token)[1])
        code, out, err = machine.join(dev, token, options=reset)
        self.assertEqual(code, 0, err)
        [fresh] = dev.json("nodes", "list")["items"]
        self.assertNotEqual(fresh["id"], node["id"])
        self.assertEqual(fresh["identityGeneration"], 1)
        self.assertEqual(len(list(data.glob("node.key.reset-*"))), 2)

    @staticmethod
    def uses_left(dev, token):
        return {t["id"]: t["usesLeft"] for t in dev.json(
            "join-tokens", "list", "--pool", dev.pool, "--all")["items"]}[
                token["id"]]

    def test_a_token_for_a_deploy(self):
        """A deploy tool mints the token of the system that it installs: its
        secret is a file of its own, and only the reference is told."""
        dev = self.dev()
        folder = self.folder / "secrets"
        self.assertIn("INVALID_STATE",
                      dev.issue("provisioned", folder, code=1))
        dev.stop()
        node = "node_" + "0" * 25 + "1"
        issued = dev.issue("provisioned", folder, "--node", node)
        self.assertEqual(set(issued), {"id", "secret", "expiresAt", "correlation"})
        self.assertEqual(issued["secret"], "secret://file/" + issued["id"])
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o700)
        [kept] = folder.iterdir()
        self.assertEqual(kept.name, issued["id"])
        self.assertEqual(stat.S_IMODE(kept.stat().st_mode), 0o600)
        token = kept.read_text()
        self.assertTrue(token.startswith(f"bcjt_{issued['id']}."))
        for path in dev.data.rglob("*"):
            if path.is_file():
                self.assertNotIn(token.split(".")[1].encode(),
                                 path.read_bytes(), path)
        # What is refused leaves no secret behind.
        mac = "--mac", "3c:ec:ef:12:34:56"
        for code, said, role, options, more in (
                (1, "NOT_FOUND", "provisioned", (),
                 {"pool": "pool_" + "0" * 26}),
                (1, "from 60 to 86400", "provisioned", (), {"ttl": "25h"}),
                (1, "no permanent MAC", "discovery",
                 ("--mac", "02:00:00:00:00:01"), {}),
                (2, "give --mac", "discovery", (), {}),
                (2, "--mac is of", "provisioned", mac, {}),
                (2, "--node of", "discovery", (*mac, "--node", node), {})):
            self.assertIn(said, dev.issue(role, folder, *options, code=code,
                                          **more))
        self.assertEqual(list(folder.iterdir()), [kept])
        # A store whose answer got lost is asked what became of it.
        with unittest.mock.patch.dict(
                os.environ, BC_FAULTS="store.after-commit=error"):
            again = dev.issue("provisioned", self.folder / "more")
        self.assertTrue((self.folder / "more" / again["id"]).exists())

        dev = self.dev()
        tokens = dev.json("join-tokens", "list", "--pool", dev.pool)["items"]
        self.assertEqual({t["id"] for t in tokens},
                         {issued["id"], again["id"]})
        [listed] = [t for t in tokens if t["id"] == issued["id"]]
        self.assertEqual((listed["id"], listed["role"], listed["usesLeft"]),
                         (issued["id"], "provisioned", 1))
        [made] = [json.loads(line) for line in dev.cli(
            "events", "list", "--correlation", issued["correlation"],
            "--output", "json").splitlines()]
        self.assertEqual(made["type"], "security.join-token.created")
        machine = self.machine("m")
        code, out, err = machine.join(dev, token, options=("--node-id", node))
        self.assertEqual(code, 0, err)
        self.assertIn(node, out)
        [joined] = dev.json("nodes", "list")["items"]
        self.assertEqual((joined["id"], joined["status"]), (node, "adopted"))
        # Once.
        self.assertNotEqual(self.machine("n").join(dev, token)[0], 0)

    def test_hosted(self):
        """A hosted token's machine asks for `node` and is `node-tenant`."""
        dev = self.dev()
        token = dev.token("h", "--hosted", "kubernetes")["token"]
        code, _, err = self.machine("h").join(dev, token)
        self.assertEqual(code, 0, err)
        [joined] = dev.events("node.joined")
        self.assertEqual(joined["data"]["role"], "node-tenant")
        self.assertEqual(joined["data"]["trust"], "tenant-controlled")

    def test_crash_between_append_and_answer(self):
        """Case 14: the server dies after the append; the retry of the same
        machine gets the stored answer, and no second use is spent."""
        for point in ("join.after-append", "store.after-commit",
                      "join.before-append", "store.before-commit"):
            with self.subTest(point=point):
                self.crash_at(point)

    def crash_at(self, point):
        folder = self.folder / point
        folder.mkdir()
        dev = Dev(self.programs, folder / "data")
        self.running.append(dev)
        token = dev.token("crash")["token"]
        dev.stop()
        dev = Dev(self.programs, folder / "data",
                  env={"BC_FAULTS": f"{point}=exit"})
        self.running.append(dev)
        machine = Machine(folder / "m")
        code, _, err = machine.join(dev, token)
        self.assertEqual(code, 3, err)
        self.assertEqual(dev.process.wait(timeout=10), 99)
        dev = Dev(self.programs, folder / "data")
        self.running.append(dev)
        code, out, err = machine.join(dev, token)
        self.assertEqual(code, 0, err)
        nodes = dev.json("nodes", "list")["items"]
        self.assertEqual(len(nodes), 1)
        self.wait_until(lambda: dev.json("nodes", "list")["items"][0][
            "status"] == "adopted")
        tokens = dev.json("join-tokens", "list", "--pool", dev.pool,
                          "--all")["items"]
        self.assertEqual(tokens[0]["usesLeft"], 0)
        dev.stop()

    def test_pins_and_unreachable(self):
        dev = self.dev()
        token = dev.token("pins")["token"]
        config = dev.data / "bcd" / "config.toml"
        text = config.read_text()
        good = text.split('serving_ca_spki_pin = "')[1].split('"')[0]
        other = "sha256/" + "A" * 43 + "="
        config.write_text(text.replace(good, other))
        code, _, err = self.machine("m").join(dev, token)
        self.assertEqual(code, 4, err)
        config.write_text(text.replace(dev.gateway, "https://localhost:9"))
        code, _, err = self.machine("m").join(dev, token)
        self.assertEqual(code, 3, err)
        config.write_text(text)
        code, _, err = self.machine("m").join(dev, token)
        self.assertEqual(code, 0, err)

    def test_garbage_at_the_doors(self):
        dev = self.dev()
        host = urllib.parse.urlparse(dev.url).netloc
        credential = (dev.data / "root-credential").read_text().strip()
        good = {"authorization": "Bearer " + credential,
                "content-type": "application/json"}
        for body, headers, status in [
                (b"", good, 400), (b"{", good, 400), (b"[]", good, 400),
                (b'{"a":1,"a":2}', good, 400), (b"\xff", good, 400),
                (b"[" * 100, good, 400), (b"{}", {}, 401),
                (b"{}", {"authorization": "Bearer x"}, 401),
                (b'{"tenantId":"' + b"x" * 300_000 + b'"}', good, 413)]:
            connection = http.client.HTTPConnection(host, timeout=20)
            try:
                connection.request("POST", "/api/compute/joinTokens/create",
                                   body, headers)
            except (BrokenPipeError, ConnectionResetError):
                pass  # the answer came before the body was read
            answer = connection.getresponse()
            text = answer.read()
            self.assertEqual(answer.status, status, (body[:40], text))
            self.assertIn("code", json.loads(text)["error"])
            connection.close()
        self.assertEqual(len(dev.json("nodes", "list")["items"]), 0)

    def test_no_secret_in_output_or_store(self):
        """The canary: a token's secret is nowhere but in its own answer."""
        dev = self.dev()
        token = dev.token("canary")["token"]
        secret = token.split(".")[1]
        self.machine("m").join(dev, token)
        self.machine("n").join(dev, token)
        listed = dev.cli("join-tokens", "list", "--pool", dev.pool, "--all",
                         "--output", "json")
        events = dev.cli("events", "list", "--output", "json")
        dev.stop()
        for text in (listed, events, "\n".join(dev.lines)):
            self.assertNotIn(secret, text)
        for path in dev.data.rglob("*"):
            if path.is_file():
                self.assertNotIn(secret.encode(), path.read_bytes(), path)


if __name__ == "__main__":
    main()
