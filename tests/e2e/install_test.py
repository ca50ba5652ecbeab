"""The install script, run for real: a server in namespaces of its own
(ops/machine) is adopted by `dev`, under dash, bash and busybox ash."""
import shutil
import stat
import subprocess

from harness import main
from install_again import InstallAgain  # noqa: F401  its tests run too
from install_support import (ARCH, HTML, MACHINE, OTHER, ROOT, SCRIPT, SHELLS,
                             VERSION, InstallCase, Watch)
from install_units import InstallUnits  # noqa: F401


class Install(InstallCase):
    # -- adopting

    def test_adopts_a_server_under_every_shell(self):
        """Files, modes, service, node; and no token anywhere (case 170)."""
        self.script()
        for shell in SHELLS:
            to = self.busybox if "busybox" in shell else self.server
            with self.subTest(shell):
                to.clean()
                self.script(to=to)
                secret = (token := self.token())["token"].split(".")[1]
                with Watch(secret) as watch:
                    done = self.install(given=f" {token['token']}\r\n",
                                        shell=shell, to=to)
                self.assertEqual(done.returncode, 0,
                                 done.stdout + done.stderr)
                self.assertIn("joined as node_", done.stdout)
                self.assertGreater(watch.looks, 3)
                self.assertEqual(watch.found, set())
                self.assertEqual(self.uses_left(token), 0)
                self.check_files(to)
                self.assertEqual(to.asked()[-3:],
                                 ["daemon-reload", "enable bcd.service",
                                  "restart bcd.service"])
                self.assertIsNotNone(to.service())
                leaks = subprocess.run(
                    ["grep", "-rlF", "--exclude-dir=proc", "--exclude-dir=dev",
                     secret, to.root], capture_output=True, text=True)
                self.assertEqual(leaks.stdout, "")
                to.clean()

    def check_files(self, to):
        modes = {"usr/local/bin/bcd": 0o755, "etc/bcd": 0o755,
                 "etc/bcd/config.toml": 0o600,
                 "etc/bcd/join-encryption.jwk": 0o644,
                 "etc/systemd/system/bcd.service": 0o644,
                 "var/lib/bcd": 0o700, "var/lib/bcd/node.key": 0o600,
                 "var/lib/bcd/identity.json": 0o600}
        for name, mode in modes.items():
            self.assertEqual(stat.S_IMODE((to.root / name).stat().st_mode),
                             mode, name)
        self.assertEqual((to.root / "usr/local/bin/bcd").read_bytes(),
                         self.downloads.bcd)
        written = (to.root / "etc/bcd/config.toml").read_text()
        own = (self.dev.data / "bcd" / "config.toml").read_text()
        for line in own.splitlines():
            self.assertIn(line, written.splitlines())
        self.assertEqual((to.root / "etc/bcd/join-encryption.jwk").read_text(),
                         (self.dev.data / "bcd" / "join-encryption.jwk")
                         .read_text())
        unit = (ROOT / "ops/systemd/bcd.service").read_text()
        self.assertEqual(
            (to.root / "etc/systemd/system/bcd.service").read_text(),
            unit.replace("/usr/bin/bcd ", "/usr/local/bin/bcd "))
        self.assertEqual(
            sorted(p.name for p in (to.root / "etc/bcd").iterdir()
                   if not p.name.startswith(".install-lock")),
            ["config.toml", "join-encryption.jwk"])
        self.assertEqual([p.name for p in
                          (to.root / "usr/local/bin").iterdir()], ["bcd"])

    def test_token_from_the_environment_goes_to_no_child(self):
        """Case 170: what the script starts is not given BCD_JOIN_TOKEN."""
        self.script("good")
        seen = self.server.root / "root" / "seen"
        wrapped = self.server.root / "usr/bin/curl"
        real = wrapped.rename(wrapped.with_name("curl-real"))
        self.addCleanup(real.rename, wrapped)
        wrapped.write_text("#!/bin/sh\nenv >/root/seen\n"
                           "exec /usr/bin/curl-real \"$@\"\n")
        wrapped.chmod(0o755)
        token = self.token()
        done = self.install(env={"BCD_JOIN_TOKEN": token["token"]})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotIn("BCD_JOIN_TOKEN", seen.read_text())
        self.assertEqual(self.uses_left(token), 0)

    def test_a_trace_does_not_show_the_token(self):
        self.script()
        token = self.token()
        done = self.server.run("dash", "-x", SCRIPT, given=token["token"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn(token["token"][-43:], done.stdout + done.stderr)

    def test_modes_and_links_under_umask_0(self):
        """Case 169: nothing is wider than it should be, no link is
        followed."""
        text = self.script()
        self.adopt()
        self.server.clean()
        outside = self.server.root / "root" / "outside"
        outside.write_text(f'site = "{self.dev.site}"\n')
        (self.server.root / "etc/bcd").mkdir()
        (self.server.root / "etc/bcd/config.toml").symlink_to("/root/outside")
        (self.server.root / SCRIPT[1:]).write_text(
            text.replace("#!/bin/sh\n", "#!/bin/sh\numask 0\n", 1))
        self.adopt(shell="dash")
        self.check_files(self.server)
        self.assertFalse(
            (self.server.root / "etc/bcd/config.toml").is_symlink())
        self.assertEqual(outside.read_text(), f'site = "{self.dev.site}"\n')
        outside.unlink()

    # -- what stops it before anything is changed

    def test_token_texts_that_are_none(self):
        """Cases 1 to 8 at the script: it stops before any network call, and
        says no part of the text."""
        self.script("good")
        good = self.token()["token"]
        secret = good.split(".")[1]
        looks = "does not look like bcjt_"
        texts = [
            (good.removeprefix("bcjt_"), looks), (good + ".x", looks),
            ("\ufeff" + good, looks), (f"\u201c{good}\u201d", looks),
            (good.replace(".", " ."), looks), (good[:-1], looks),
            (good.upper(), looks), (good.replace("jt_", "jt_l", 1), looks),
            (good[:60] + "\u00a0" + good[60:], looks), ("bcjt_.", looks),
            (f"{good}\n{good}\n", "more than one line"),
            (f"{good}\n\n{good}", "more than one line"),
            (good.ljust(4097), "longer than 4096 bytes"),
            (" \n\t", looks), ("", "no join token given")]
        for shell in SHELLS[:2]:
            for text, why in texts:
                with self.subTest(shell, text=text):
                    done = self.install(given=text, shell=shell)
                    self.assert_stops(done, why)
                    self.assertNotIn(secret, done.stdout + done.stderr)
        self.assert_changes_nothing("is set but empty",
                                    env={"BCD_JOIN_TOKEN": ""})
        self.assert_changes_nothing("must not be an argument",
                                    options=[good], code=2)
        self.assert_changes_nothing("has not joined", options=["--upgrade"])
        self.assertEqual(self.downloads.paths, [])
        # Exactly 4096 bytes with blanks behind: as bcd takes it (case 3).
        done = self.install(given=good.ljust(4096))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_an_empty_token_file(self):
        self.script("good")
        (self.server.root / "root/empty").write_text("")
        done = self.server.run("sh", "-c", f"dash {SCRIPT} < /root/empty")
        self.assert_stops(done, "the token file is empty")

    def test_nothing_to_check_a_digest_with(self):
        """Case 164: no tool, no digest for this machine, an empty file."""
        tool = self.server.root / "usr/bin/sha256sum"
        away = self.server.root / "root/sha256sum"
        token = self.token()
        self.script("good")
        tool.rename(away)
        try:
            self.assert_changes_nothing("sha256sum, shasum or openssl",
                                        given=token["token"])
        finally:
            away.rename(tool)
        self.script("good", arch=OTHER)
        self.assert_changes_nothing(f"no SHA-256 of bcd for {ARCH}",
                                    given=token["token"])
        self.assertEqual(self.downloads.paths, [])
        self.script("empty")
        self.assert_changes_nothing("is not bcd", given=token["token"])
        self.assertEqual(self.uses_left(token), 1)

    def test_downloads_that_fail(self):
        """Case 165: nothing is in place, nobody joined, nothing restarted;
        with curl and with wget."""
        token = self.token()
        for how in ("missing", "forbidden", "html", "half", "cut",
                    "redirect"):
            for to in (self.server, self.busybox):
                with self.subTest(how, busybox=to is self.busybox):
                    self.script(how, to=to)
                    self.assert_changes_nothing(
                        "nothing was changed", given=token["token"], to=to,
                        shell="sh")
        self.assertEqual(self.uses_left(token), 1)

    def test_a_script_that_was_cut(self):
        """Case 166: at every 200th byte, and at each of the last, in four
        shells."""
        text = self.script("good").encode()
        cuts = sorted({*range(0, len(text), 200),
                       *range(len(text) - 40, len(text) - 1)})
        folder = self.server.root / "root" / "cuts"
        folder.mkdir()
        self.addCleanup(shutil.rmtree, folder)
        for cut in cuts:
            (folder / f"{cut:06}").write_bytes(text[:cut])
        token = self.token()
        (folder / "token").write_text(token["token"])
        before = self.server.files()
        shutil.copy(shutil.which("busybox"), folder / "busybox")
        done = self.server.run("sh", "-c", """
            cd /root/cuts
            for cut in 0*; do
              for shell in sh bash dash "./busybox ash"; do
                $shell ./$cut <token >/dev/null 2>&1
                echo "$cut $shell $?"
              done
            done
            for shell in sh bash dash "./busybox ash"; do
              $shell -n /root/install-bcd.sh || echo "$shell -n failed"
            done""")
        self.assertEqual(len(done.stdout.splitlines()), 4 * len(cuts),
                         done.stdout[-200:] + done.stderr)
        self.assertEqual(self.server.files(), before)
        self.assertEqual(self.downloads.paths, [])
        self.assertEqual(self.uses_left(token), 1)

    def test_names_of_architectures(self):
        """Case 167: four names map, the others stop before the download."""
        uname = self.server.root / "usr/bin/uname"
        real = uname.rename(uname.with_name("uname-real"))
        self.addCleanup(real.rename, uname)
        token = self.token()["token"]
        known = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64",
                 "arm64": "arm64"}
        for name in [*known, "armv7l", "i686", "riscv64", "s390x", ""]:
            with self.subTest(name):
                uname.write_text(f"#!/bin/sh\necho '{name}'\n")
                uname.chmod(0o755)
                self.downloads.paths.clear()
                self.script("html", arch=known.get(name, ARCH))
                if name in known:
                    self.assert_changes_nothing("is not bcd", given=token)
                    self.assertEqual(
                        self.downloads.paths,
                        [f"/html/downloads/bcd/{VERSION}/linux-{known[name]}"])
                else:
                    self.assert_changes_nothing(f"('{name}')", given=token)
                    self.assertEqual(self.downloads.paths, [])

    def test_a_program_that_does_not_run_here(self):
        """A 32-bit userland, another C library: the digest is right, and the
        program does not start."""
        self.script("html", digest=HTML)
        self.assert_changes_nothing("does not run on this machine",
                                    given=self.token()["token"])

    def test_two_runs_at_once(self):
        self.script("good")
        token = self.token()["token"]
        held = subprocess.Popen(
            [MACHINE, "run", self.server.folder, "sh", "-c",
             "mkdir -p /etc/bcd; exec flock /etc/bcd/.install-lock sh -c "
             "'echo held; exec sleep 60'"], stdout=subprocess.PIPE, text=True)
        self.assertEqual(held.stdout.readline(), "held\n")
        self.assert_changes_nothing("another run", given=token)
        held.kill()
        held.wait()
        held.stdout.close()
        self.server.run("sh", "-c", "kill $(ps ax | grep '[s]leep 60' | "
                        "sed 's/^ *//; s/ .*//')")
        # Without flock: a folder, which a run that was cut may leave.
        lock = self.busybox.root / "etc/bcd/.install-lock.d"
        lock.mkdir(parents=True)
        self.script("good", to=self.busybox)
        self.assert_changes_nothing(".install-lock.d", given=token,
                                    to=self.busybox, shell="ash")
        lock.rmdir()


if __name__ == "__main__":
    main()
