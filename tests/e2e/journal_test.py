"""The journal's tools on real stores: migrate, pki, verify, export, replay,
new-incarnation, projections rebuild (DESIGN sections 4, 5 and 11)."""
import json
import os
import pathlib
import shutil
import sqlite3
import stat
import subprocess
import tempfile
import unittest

from harness import WAIT, Case, main

SECRET = "a secret of the deployment"
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Tools(Case):
    def tool(self, *words, code=0, env=None):
        """Standard output, or the error text of another exit code."""
        whole = {k: v for k, v in os.environ.items()
                 if not k.startswith("BETTER_COMPUTE_")}
        done = subprocess.run(
            [self.programs / "better-compute", *map(str, words)],
            env=dict(whole, **(env or {})), capture_output=True, text=True,
            timeout=WAIT)
        self.assertEqual(done.returncode, code,
                         f"{words}\n{done.stdout}{done.stderr}")
        return done.stdout if code == 0 else done.stderr

    def json(self, *words, env=None):
        return json.loads(self.tool(*words, "--output", "json", env=env))

    @property
    def secret(self):
        return {"BETTER_COMPUTE_SECRET": SECRET}


class Dev(Tools):
    """On what `dev` leaves: three machines joined."""

    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.joins("3")
        self.db = self.data / "journal.db"
        self.store = ["--store", f"sqlite:{self.db}"]
        self.env = {"BETTER_COMPUTE_SECRET":
                    (self.data / "secret").read_text().strip()}

    def joins(self, machines):
        self.tool("dev", "--once", "--sim", machines, "--data", self.data,
                  "--api-port", "0", "--gateway-port", "0")

    def sql(self, script):
        with sqlite3.connect(self.db) as db:
            db.executescript(script)
        db.close()

    def rows(self, query):
        db = sqlite3.connect(self.db)
        out = db.execute(query).fetchall()
        db.close()
        return out

    def test_verify(self):
        """Clean; then an altered row, by its number and exit code 1."""
        text = self.tool("journal", "verify", *self.store, env=self.env)
        self.assertRegex(text, r"clean: rows 1 to \d+ in \d+ commits")
        told = self.tool("journal", "verify", *self.store, code=2)
        self.assertIn("--without-secret", told)
        self.tool("journal", "verify", *self.store, "--without-secret")
        told = self.tool("journal", "verify", *self.store, code=2,
                         env=self.secret)
        self.assertIn("does not open the key bundle", told)
        self.sql("update events set actor = 'nobody' where position = 4")
        told = self.tool("journal", "verify", *self.store, "--without-secret",
                         code=1)
        self.assertRegex(told, "^better-compute: INTERNAL: .*row 4 is altered")
        told = self.tool("journal", "export", *self.store, code=1)
        self.assertIn("row 4 is altered", told)

    def test_folds(self):
        """A lost claim and a wrong budget (dev's own events)."""
        verify = ["journal", "verify", *self.store, "--without-secret"]
        (claim, row), *_ = self.rows(
            "select claim, position from claims where claim like 'spki:%'")
        kept = self.db.read_bytes()
        self.sql(f"delete from claims where claim = '{claim}'")
        self.assertIn(f"claim {claim} is not as row {row} left it",
                      self.tool(*verify, code=1))
        self.db.write_bytes(kept)
        self.tool(*verify)
        self.sql("update budgets set amount_left = amount_left + 1")
        self.assertIn("is not as its rows left it", self.tool(*verify, code=1))

    def test_checkpoint_files(self):
        """Files from outside: none in it, broken, not signed."""
        file = self.folder / "log"
        verify = ["journal", "verify", *self.store, "--checkpoint", file]
        file.write_text("nothing\n")
        self.assertIn("holds no checkpoint",
                      self.tool(*verify, code=2, env=self.env))
        file.write_text("x\n[info] checkpoint incarnation=inc_1\n")
        self.assertIn("line 2", self.tool(*verify, code=2, env=self.env))
        (link, commit, position, incarnation), = self.rows(
            "select link, commit_no, position, incarnation from head")
        line = (f"checkpoint incarnation={incarnation} position={position} "
                f"commit={commit} link={link} time=2026-11-29T18:00:00.000Z "
                f"signature={'ab' * 64}\n")
        file.write_text(line)
        self.assertIn("is not signed by the journal's key",
                      self.tool(*verify, code=1, env=self.env))
        # Whoever has no secret compares the links all the same.
        self.tool(*verify, "--without-secret")
        file.write_text(line.replace(link, "0" * 64))
        self.assertIn("was rewritten",
                      self.tool(*verify, "--without-secret", code=1))

    def test_export(self):
        """Without secrets unless asked; verifies and replays by itself."""
        out = self.folder / "export.ndjson"
        self.tool("journal", "export", *self.store, "--out", out)
        self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o600)
        self.assertIn("ALREADY_EXISTS",
                      self.tool("journal", "export", *self.store, "--out", out,
                                code=1))
        lines = out.read_text().splitlines()
        self.assertEqual(lines, self.tool("journal", "export",
                                          *self.store).splitlines())
        kinds = [json.loads(line)["kind"] for line in lines]
        self.assertEqual((kinds[0], kinds[-1]), ("header", "end"))
        for word in ("secretSha256", "sealed", "answerBody", "certificate\""):
            self.assertNotIn(word, out.read_text())
        whole = self.folder / "whole.ndjson"
        self.tool("journal", "export", *self.store, "--with-internal",
                  "--out", whole)
        self.assertIn("secretSha256", whole.read_text())

        key = self.folder / "key"
        key.write_text(self.json("pki", "show", *self.store,
                                 env=self.env)["journalKey"] + "\n")
        for file in (out, whole):
            answer = self.json("journal", "verify", "--from", file,
                               "--journal-key", key)
            self.assertTrue(answer["clean"])
            self.assertEqual(answer["internalChecked"], file == whole)
        self.assertIn("clean", subprocess.run(
            [self.programs / "better-compute", "journal", "verify", "--from",
             "-", "--journal-key", key], stdin=out.open(), text=True,
            capture_output=True, check=True).stdout)
        self.tool("journal", "verify", "--from", out, code=2)
        out.write_text("\n".join(lines).replace("compute.localhost", "x"))
        self.assertIn("is altered", self.tool(
            "journal", "verify", "--from", out, "--without-secret", code=1))
        self.tool("journal", "replay", "--from", out, "--stream", "pki",
                  code=1)

    def test_replay(self):
        """The same from the store and from an export; by id; until."""
        (token,), = self.rows(
            "select stream from events where type = "
            "'security.join-token.redeemed' order by position limit 1")
        name = token.split(":")[1]
        replay = ["journal", "replay", "--stream", name]
        text = self.tool(*replay, *self.store)
        self.assertRegex(text, r"usesLeft\s+\d+ -> \d+")
        self.assertIn(f"state of {token} after row", text)
        self.assertNotIn("secretSha256", text)
        self.assertIn("secretSha256",
                      self.tool(*replay, *self.store, "--with-internal"))
        whole = self.folder / "whole.ndjson"
        outward = self.folder / "outward.ndjson"
        self.tool("journal", "export", *self.store, "--with-internal",
                  "--out", whole)
        self.tool("journal", "export", *self.store, "--out", outward)
        self.assertEqual(text, self.tool(*replay, "--from", whole))
        public = self.tool(*replay, "--from", outward)
        self.assertIn("as far as it is public", public)

        steps = [json.loads(line) for line in self.tool(
            *replay, *self.store, "--output", "json").splitlines()]
        self.assertEqual([s["version"] for s in steps],
                         list(range(1, len(steps) + 1)))
        left = [s["state"]["usesLeft"] for s in steps]
        self.assertEqual(left, list(range(left[0], left[0] - len(left), -1)))
        self.assertEqual(steps[1]["changes"],
                         [{"path": "/usesLeft", "old": left[0],
                           "new": left[1]}])
        for until in (str(steps[1]["position"]), steps[1]["time"]):
            part = self.tool(*replay, *self.store, "--until", until,
                             "--output", "json").splitlines()
            self.assertIn(json.loads(part[-1])["version"],
                          range(2, len(steps) + 1))
        part = self.tool(*replay, *self.store, "--until",
                         str(steps[0]["position"]), "--output", "json")
        self.assertEqual(len(part.splitlines()), 1)

        for words, code, said in (
                (["--stream", "jt_" + "0" * 26], 1, "NOT_FOUND"),
                (["--stream", "nonsense"], 2, "INVALID_INPUT"),
                (["--stream", name, "--until", "soon"], 2, "INVALID_INPUT"),
                (["--stream", name, "--until", "0"], 1, "NOT_FOUND")):
            told = self.tool("journal", "replay", *self.store, *words,
                             code=code)
            self.assertIn(said, told)
        self.assertIn("--store URL or --from FILE",
                      self.tool(*replay, code=2))

    def test_every_stream_replays(self):
        for (stream,) in self.rows("select distinct stream from events"):
            self.assertIn(f"state of {stream} after row",
                          self.tool("journal", "replay", *self.store,
                                    "--stream", stream))

    def test_new_incarnation(self):
        """An event; ids are of another incarnation afterwards; once a server
        runs, refused."""
        (before,), = self.rows("select incarnation from head")
        new = ["journal", "new-incarnation", *self.store]
        self.tool(*new, code=2)
        server = self.dev()
        self.assertIn("INVALID_STATE: ", self.tool(*new, "--yes", code=1))
        # To read needs no lock.
        self.tool("journal", "verify", *self.store, env=self.env)
        self.tool("journal", "export", *self.store)
        self.assertIn("INVALID_STATE",
                      self.tool("projections", "rebuild", *self.store, code=1))
        old = server.cli("events", "list", "--output", "json").splitlines()
        self.assertTrue(json.loads(old[0])["id"].startswith(before))
        server.stop()
        answer = self.json(*new, "--yes")
        self.assertEqual(answer["previous"], before)
        self.assertNotEqual(answer["incarnation"], before)
        (after, head), = self.rows("select incarnation, position from head")
        self.assertEqual((after, head),
                         (answer["incarnation"], answer["position"]))
        self.tool("journal", "verify", *self.store, env=self.env)
        self.assertIn(f"row {head}", self.tool("journal", "replay",
                                              *self.store, "--stream",
                                              "journal"))
        self.joins("4")
        self.tool("journal", "verify", *self.store, env=self.env)
        last = json.loads(self.dev().cli("events", "list", "--output", "json")
                          .splitlines()[-1])
        self.assertTrue(last["id"].startswith(after))
        self.assertIn(after, self.tool("journal", "export",
                                       *self.store).splitlines()[0])

    def test_rebuild(self):
        first = self.json("projections", "rebuild", *self.store)
        (head,), = self.rows("select position from head")
        self.assertEqual(first["position"], head)
        self.sql("update nodes set hostname = 'wrong'")
        self.assertEqual(self.json("projections", "rebuild", *self.store),
                         first)
        self.assertEqual(self.rows("select count(*) from nodes "
                                   "where hostname = 'wrong'"), [(0,)])


class FirstStart(Tools):
    """migrate and pki into a store and a file."""

    def keys(self, store):
        where = ["--store", store]
        init = ["pki", "init", "--trust-domain", "a.example", *where]
        self.assertIn("better-compute migrate --store",
                      self.tool(*init, code=1, env=self.secret))
        version = self.json("migrate", *where)["schema"]
        self.assertEqual(self.json("migrate", *where)["schema"], version)
        self.assertIn("pki init", self.tool("pki", "show", *where, code=1,
                                            env=self.secret))
        pins = self.json(*init, env=self.secret)
        self.assertIn("ALREADY_EXISTS",
                      self.tool(*init, code=1, env=self.secret))
        self.assertEqual(self.json("pki", "show", *where, env=self.secret),
                         pins)
        self.tool("pki", "show", *where, code=2)
        self.tool("journal", "verify", *where, env=self.secret)
        self.gateway(where)
        change = self.json("journal", "new-incarnation", *where, "--yes")
        self.assertEqual(change["position"], 2)
        self.tool("journal", "verify", *where, env=self.secret)
        out = self.folder / "export"
        self.tool("journal", "export", *where, "--out", out)
        key = self.folder / "key"
        key.write_text(pins["journalKey"])
        self.tool("journal", "verify", "--from", out, "--journal-key", key)
        self.assertEqual(self.json("projections", "rebuild",
                                   *where)["position"], 2)
        return where

    def gateway(self, where):
        made = self.folder / "gw"
        issue = ["pki", "issue-gateway", *where, "--name", "gw.example.com",
                 "--name", "192.0.2.7", "--out-dir", made]
        files = self.json(*issue, env=self.secret)
        self.assertEqual(stat.S_IMODE(made.stat().st_mode), 0o700)
        names = {"serving.crt", "serving.key", "internal.crt", "internal.key",
                 "internal-ca.crt", "node-ca.crt"}
        self.assertEqual({p.name for p in made.iterdir()}, names)
        self.assertEqual({pathlib.Path(f).name for f in files.values()}, names)
        for path in made.iterdir():
            self.assertEqual(stat.S_IMODE(path.stat().st_mode),
                             0o600 if path.suffix == ".key" else 0o644)
        self.assertIn("ALREADY_EXISTS",
                      self.tool(*issue, code=1, env=self.secret))
        told = self.tool(*issue[:-1], self.folder / "gw2", "--name", "a b",
                         code=2, env=self.secret)
        self.assertIn("INVALID_INPUT", told)
        self.assertFalse((self.folder / "gw2").exists())
        if not shutil.which("openssl"):
            return
        chain = (made / "serving.crt").read_text().split("-----BEGIN")
        ca = self.folder / "serving-ca.crt"
        ca.write_text("-----BEGIN" + chain[2])
        for authority, leaf, use in ((ca, "serving.crt", "sslserver"),
                                     (made / "internal-ca.crt", "internal.crt",
                                      "sslclient")):
            subprocess.run(["openssl", "verify", "-purpose", use, "-CAfile",
                            authority, made / leaf], check=True,
                           capture_output=True)

    def test_sqlite(self):
        db = self.folder / "store.db"
        self.keys(f"sqlite:{db}")
        self.assertEqual(stat.S_IMODE(db.stat().st_mode), 0o600)

    def test_postgres(self):
        place = tempfile.mkdtemp(prefix="bc-journal-", dir="/dev/shm"
                                 if os.access("/dev/shm", os.W_OK) else None)
        try:
            url = subprocess.run([ROOT / "ops/postgres", "start", place],
                                 check=True, capture_output=True,
                                 text=True).stdout.strip()
            self.keys(url)
            self.altered(url, place)
        finally:
            subprocess.run([ROOT / "ops/postgres", "stop", place,
                            "immediate"], check=False, capture_output=True)
            shutil.rmtree(place)

    def altered(self, url, place):
        subprocess.run(
            ["psql", "-h", place, "-U", "postgres", "-qc",
             "update events set actor = 'x' where position = 1"], check=True)
        self.assertIn("row 1 is altered",
                      self.tool("journal", "verify", "--store", url, code=1,
                                env=self.secret))

    def test_file(self):
        """A bundle in a file, whatever store the shell carries along."""
        env = dict(self.secret, BETTER_COMPUTE_STORE="sqlite:/nowhere/x.db")
        file = self.folder / "bundle"
        pins = self.json("pki", "init", "--trust-domain", "a.example", "--out",
                         file, env=env)
        self.assertEqual(self.json("pki", "show", "--file", file, env=env),
                         pins)

    def test_urls(self):
        """A bad URL is a usage error, and a password in it is not shown."""
        for words in (["migrate"], ["journal", "verify"],
                      ["journal", "export"], ["projections", "rebuild"],
                      ["journal", "new-incarnation", "--yes"]):
            self.tool(*words, code=2)
            for url in ("journal.db", "sqlite:", "mysql://u:hush@h/d"):
                told = self.tool(*words, "--store", url, code=2)
                self.assertIn("INVALID_INPUT", told)
                self.assertNotIn("hush", told)
        told = self.tool("migrate", "--store",
                         "postgres://u:hush@127.0.0.1:1/d", code=1)
        self.assertNotIn("hush", told)


if __name__ == "__main__":
    main()
