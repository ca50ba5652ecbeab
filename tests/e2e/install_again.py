"""The install script on a machine that joined, or tried to; run by
install_test.py."""
import contextlib
import shutil
import subprocess

from install_support import AS_ROOT, InstallCase


class InstallAgain(InstallCase):
    def test_upgrade_in_place(self):
        """Case 173: without a token; a wrong digest or a full disk leaves what
        runs, and the swap is one rename."""
        self.script("good")
        self.adopt()
        first = self.server.service()
        identity = (self.server.root / "var/lib/bcd/identity.json").read_text()
        with (self.server.root / "etc/bcd/config.toml").open("a") as config:
            config.write('data_dir = "/var/lib/bcd"\n')
        # For a node that is not root ([helper]).
        (self.server.root / "etc/bcd/config.toml").chmod(0o644)

        self.script("newer")  # with the digest of the old one
        self.replace_program(self.downloads.bcd + b" of before")
        self.assert_changes_nothing("is not bcd")
        self.assertEqual(self.server.service(), first)

        self.script("newer", digest=self.downloads.newer)
        with self.full_disk():
            self.assert_changes_nothing("cannot download")
        self.assertEqual(self.server.service(), first)

        for options in ((), ("--upgrade",)):
            before = self.server.service()
            done = self.install(*options)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(
                (self.server.root / "usr/local/bin/bcd").read_bytes(),
                self.downloads.newer)
            self.assertNotEqual(self.server.service(), before)
        # The second run found the program in place.
        self.assertIn("already", done.stdout)
        self.assertEqual(
            (self.server.root / "var/lib/bcd/identity.json").read_text(),
            identity)
        config = (self.server.root / "etc/bcd/config.toml").read_text()
        self.assertEqual(
            (self.server.root / "etc/bcd/config.toml").stat().st_mode & 0o777,
            0o644)
        self.assertEqual(config.count("data_dir"), 1)
        self.assertEqual(config.count("\nsite = "), 1)

    def replace_program(self, content):
        """Under the one that runs."""
        program = self.server.root / "usr/local/bin/bcd"
        program.unlink()
        program.write_bytes(content)
        program.chmod(0o755)

    @contextlib.contextmanager
    def full_disk(self):
        """Little more room where bcd is than it takes."""
        where = self.server.root / "usr/local/bin"
        kept = self.server.root / "root/kept"
        shutil.copy(where / "bcd", kept)
        size = len(self.downloads.bcd) + 256 * 1024
        as_root = ["--user", "--preserve-credentials"] if AS_ROOT else []
        mounts = ["nsenter", f"--target={self.inner(self.server)}", *as_root, "--mount"]
        subprocess.run([*mounts, "mount", "-t", "tmpfs", "-o", f"size={size}",
                        "none", where], check=True)
        try:
            self.server.run("cp", "/root/kept", "/usr/local/bin/bcd")
            yield
            same = self.server.run("cmp", "/root/kept", "/usr/local/bin/bcd")
            self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
            self.assertEqual(self.server.run("ls", "/usr/local/bin").stdout,
                             "bcd\n")
        finally:
            subprocess.run([*mounts, "umount", "-l", where], check=True)
            kept.unlink()

    def test_joined_already_and_a_token(self):
        """Case 173: said, and the token stays unspent."""
        self.script()
        self.adopt()
        node = (self.server.root / "var/lib/bcd/identity.json").read_text()
        token, done = self.adopt()
        self.assertIn("already joined", done.stdout)
        self.assertIn("the token was not used", done.stdout)
        self.assertEqual(self.uses_left(token), 1)
        self.assertEqual(
            (self.server.root / "var/lib/bcd/identity.json").read_text(), node)

    def test_another_data_folder(self):
        """The hardened unit may write to the configured folder; where it
        could not, nothing is changed."""
        self.script()
        self.adopt()
        text = (self.server.root / "etc/bcd/config.toml").read_text()
        self.server.clean()
        config = self.server.root / "etc/bcd/config.toml"
        config.parent.mkdir()
        token = self.token()
        for folder in ("/home/bcd", "/root/bcd", "/tmp/bcd", "/srv/b c",
                       "/srv/50%", "/srv/../tmp/bcd", "srv"):
            config.write_text(text + f'data_dir = "{folder}"\n')
            self.assert_changes_nothing("data_dir", "nothing was changed",
                                        given=token["token"])
        config.write_text(text + 'data_dir = "/srv/bcd"\n')
        self.adopt()
        more = "etc/systemd/system/bcd.service.d/data-dir.conf"
        self.assertIn("[Service]\nReadWritePaths=/srv/bcd\n",
                      (self.server.root / more).read_text())
        self.assertEqual((self.server.root / "srv/bcd").stat().st_mode & 0o777,
                         0o700)
        self.assertTrue((self.server.root / "srv/bcd/identity.json").exists())
        self.server.clean()
        self.server.run("rm", "-r", "/srv/bcd")
        # Back in the usual place nothing else is open.
        config.parent.mkdir()
        config.write_text(text)
        self.adopt()
        self.assertFalse((self.server.root / more).exists())

    def test_another_site(self):
        """Case 173: it stops before it replaces the configuration."""
        self.script()
        self.adopt()
        site = "site_01k5w3c9t8e4m2v6h0a7n1p5qd"
        self.script(site=site)
        token = self.token()
        for given in (token["token"], None):
            self.assert_changes_nothing(self.dev.site, site,
                                        "nothing was changed", given=given)
        self.assertEqual(self.uses_left(token), 1)

    def test_a_join_that_is_refused_can_be_tried_again(self):
        self.script()
        token = self.token()
        self.dev.cli("join-tokens", "revoke", token["id"], "--pool",
                     self.dev.pool)
        done = self.install(given=token["token"])
        self.assert_stops(done, "Join refused", "run this script again")
        self.assertEqual(self.server.asked(), [])
        self.adopt()
        self.assertIsNotNone(self.server.service())

    def test_installed_and_not_joined(self):
        """Without a token it upgrades what is there, starts nothing, and says
        how to join."""
        self.script()
        token = self.token()
        self.dev.cli("join-tokens", "revoke", token["id"], "--pool",
                     self.dev.pool)
        self.assert_stops(self.install(given=token["token"]), "Join refused")
        for name, digest, options in (
                ("newer", self.downloads.newer, ()),
                ("good", self.downloads.bcd, ("--upgrade",))):
            self.script(name, digest=digest)
            done = self.install(*options)
            if options:
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn("has not joined yet", done.stdout)
            else:  # a token that was to come and did not is no success
                self.assert_stops(done, "has not joined yet")
            self.assertEqual(
                (self.server.root / "usr/local/bin/bcd").read_bytes(), digest)
            self.assertEqual(self.server.asked(), [
                "daemon-reload", "is-active bcd.service"])
            (self.server.root / "var/log/systemctl.log").unlink()
        # What a token is missing for is still said where one was meant.
        self.assert_changes_nothing("is set but empty",
                                    env={"BCD_JOIN_TOKEN": ""})
        self.adopt()
        before = self.server.service()
        self.assertIsNotNone(before)
        # It runs, and is restarted, though its identity was taken away.
        (self.server.root / "var/lib/bcd/identity.json").unlink()
        self.assert_stops(self.install(), "bcd.service did not start")
        self.assertIsNone(self.server.service())
