"""The install script where the machine has a TPM, and where bcd is not root;
run by install_test.py."""
import os
import re
import shutil
import subprocess
import unittest

from install_support import AS_ROOT, ROOT, InstallCase

UNITS = "etc/systemd/system"
TPM = f"{UNITS}/bcd.service.d/tpm.conf"
HELPER = f"{UNITS}/bcd.service.d/helper.conf"
HELPER_UNIT = f"{UNITS}/bcd-helper.service"
# What must be there where a file system is put over /dev.
DEVICES = {"null": (1, 3), "zero": (1, 5), "random": (1, 8), "urandom": (1, 9)}


@unittest.skipIf(AS_ROOT, "needs root, for devices and other users")
class InstallUnits(InstallCase):
    def setUp(self):
        super().setUp()
        for server in (self.server, self.busybox):
            shutil.rmtree(server.root / UNITS / "bcd.service.d",
                          ignore_errors=True)

    # -- a TPM

    def mounts(self, to, *words):
        subprocess.run(["nsenter", f"--target={self.inner(to)}", "--mount",
                        *map(str, words)], check=True)

    def devices(self, to):
        """A /dev of its own for the machine, while the test runs."""
        where = to.root / "dev"
        self.mounts(to, "mount", "-t", "tmpfs", "none", where)
        self.addCleanup(self.mounts, to, "umount", "-l", where)
        for name, (major, minor) in DEVICES.items():
            self.device(to, name, major, minor, mode="666")
        return where

    def device(self, to, name, major, minor, owner="0:0", mode="660"):
        path = to.root / "dev" / name
        self.mounts(to, "mknod", "-m", mode, path, "c", major, minor)
        self.mounts(to, "chown", owner, path)

    def drop_in(self, to, name=TPM):
        path = to.root / name
        return path.read_text() if path.exists() else None

    def test_the_group_of_the_tpm(self):
        """bcd.service is of it where the device is another user's, and no
        more when it is not; the join too, so that it may use the TPM."""
        for shell, to in (("dash", self.server), ("ash", self.busybox)):
            with self.subTest(shell):
                self.script(to=to)
                where = self.devices(to)
                # Not what bcd would find a TPM at; it has other libraries.
                self.device(to, "tpmrm0", 1, 3, owner="64:65")
                _, done = self.adopt(shell=shell, to=to)
                self.assertIn("[Service]\nSupplementaryGroups=65\n",
                              self.drop_in(to))
                if to is self.server:
                    self.assertNotIn("SupplementaryGroups", done.stderr)
                # Root's own, and none at all: no drop-in.
                for owner in ("0:65", "64:0", None):
                    self.mounts(to, "rm", "-f", where / "tpmrm0")
                    if owner:
                        self.device(to, "tpmrm0", 1, 3, owner=owner)
                    self.assertEqual(
                        self.install(shell=shell, to=to).returncode, 0)
                    self.assertIsNone(self.drop_in(to))
                # Another place, and a TPM that is not used.
                config = to.root / "etc/bcd/config.toml"
                text = config.read_text()
                self.device(to, "tpmrm1", 1, 3, owner="64:66")
                for tables, group in (
                        ('[tpm]\ntcti = "device:/dev/tpmrm1"\n', "66"),
                        ('[tpm]\ntcti = "device:/dev/tpmrm1"\n'
                         'enabled = "false"\n', None),
                        ('[tpm]\ntcti = "swtpm:port=2321"\n', None)):
                    config.write_text(text + tables)
                    self.assertEqual(
                        self.install(shell=shell, to=to).returncode, 0)
                    found = self.drop_in(to)
                    self.assertEqual(
                        group, found and found.split("Groups=")[1].strip())

    # -- bcd as a user of its own

    def add_useradd(self):
        """The machine can make users, by this machine's program."""
        found = shutil.which("useradd", path="/usr/sbin:/usr/bin:/sbin")
        if not found:
            self.skipTest("there is no useradd here")
        listed = subprocess.run(["ldd", found], capture_output=True, text=True,
                                check=True).stdout
        for path in re.findall(r"(/\S+) \(0x", listed):
            to = self.server.root / path.removeprefix("/").removeprefix("usr/")
            if not to.exists():
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, to)
        shutil.copy(found, self.server.root / "usr/bin/useradd")
        kept = {name: (self.server.root / "etc" / name).read_text()
                for name in ("passwd", "group")}
        self.addCleanup(
            lambda: [(self.server.root / "etc" / name).write_text(text)
                     for name, text in kept.items()])
        self.addCleanup((self.server.root / "usr/bin/useradd").unlink)

    def user_of(self, service):
        self.assertEqual(
            self.server.run("systemctl", "is-active", service).returncode, 0)
        pid = (self.server.root / f"run/{service}.pid").read_text().strip()
        return self.server.run("stat", "-c", "%U", f"/proc/{pid}").stdout \
            .strip()

    def hardware(self, key):
        """What a command to the node finds of its hardware."""
        node = self.dev.json("nodes", "list", "--pool",
                             self.dev.pool)["items"]
        serial = (self.server.root / "sys/class/dmi/id/product_serial") \
            .read_text().strip()
        last = max(node, key=lambda n: n["joinedAt"])
        return serial, self.dev.json(
            "commands", "enqueue", last["id"], "inventory.collect", "--key",
            key, "--ttl", "60s", "--wait")

    def test_a_user_of_its_own(self):
        self.add_useradd()
        self.addCleanup(self.server.run, "systemctl", "stop", "bcd-helper")
        self.script()
        token = self.token()
        done = self.install("--helper", given=token["token"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("made the user bcd", done.stdout)
        unit = (ROOT / "ops/systemd/bcd-helper.service").read_text()
        self.assertEqual((self.server.root / HELPER_UNIT).read_text(),
                         unit.replace("/usr/bin/bcd ", "/usr/local/bin/bcd "))
        self.assertIn("[Unit]\nRequires=bcd-helper.service\n"
                      "After=bcd-helper.service\n[Service]\nUser=bcd\n",
                      self.drop_in(self.server, HELPER))
        config = self.server.root / "etc/bcd/config.toml"
        self.assertTrue(config.read_text().endswith(
            '\n[helper]\nuser = "bcd"\n'))
        self.assertEqual(config.stat().st_mode & 0o777, 0o644)
        self.assertEqual(self.server.asked()[-5:],
                         ["daemon-reload", "enable bcd.service",
                          "enable bcd-helper.service",
                          "restart bcd-helper.service",
                          "restart bcd.service"])
        self.assertEqual(self.user_of("bcd"), "bcd")
        self.assertEqual(self.user_of("bcd-helper"), "root")

        # What only root can read comes by the helper, and from nobody else.
        serial, found = self.hardware("by-helper")
        self.assertIn(serial, found["output"])
        alone = self.server.run(
            "setpriv", "--reuid=bcd", "--regid=bcd", "--clear-groups", "cat",
            "/sys/class/dmi/id/product_serial")
        self.assertNotEqual(alone.returncode, 0)

        # Run again it stays so, without being asked for.
        for options in ((), ("--upgrade", "--helper")):
            done = self.install(*options)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("made the user", done.stdout)
            self.assertEqual(self.user_of("bcd"), "bcd")
            self.assertEqual(config.read_text().count("[helper]"), 1)

        # Without the table bcd is root again.
        config.write_text(config.read_text().split("\n[helper]")[0] + "\n")
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("disable --now bcd-helper.service", self.server.asked())
        self.assertFalse((self.server.root / HELPER_UNIT).exists())
        self.assertIsNone(self.drop_in(self.server, HELPER))

    def test_what_was_joined_as_root_becomes_the_user_s(self):
        self.add_useradd()
        self.addCleanup(self.server.run, "systemctl", "stop", "bcd-helper")
        self.addCleanup(self.server.run, "rm", "-rf", "/srv/bcd")
        self.script()
        config = self.server.root / "etc/bcd/config.toml"
        self.adopt()
        text = config.read_text()
        self.server.clean()
        config.parent.mkdir()
        (self.server.root / "srv").mkdir(exist_ok=True)
        config.write_text(text + 'data_dir = "/srv/bcd"\n')
        self.adopt()
        folder = self.server.root / "srv/bcd"
        self.assertEqual(folder.stat().st_uid, 0)
        done = self.install("--upgrade", "--helper")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        user = int(self.server.run("id", "-u", "bcd").stdout)
        for path in (folder, folder / "identity.json", folder / "node.key"):
            self.assertEqual(path.stat().st_uid, user, path)
        self.assertEqual(self.user_of("bcd"), "bcd")

    def by_helper(self, to=None):
        """A machine where bcd is the user bcd; its configuration, and the
        number of that user."""
        self.add_useradd()
        self.addCleanup(self.server.run, "systemctl", "stop", "bcd-helper")
        self.script()
        self.adopt()
        config = self.server.root / "etc/bcd/config.toml"
        if to:
            text = config.read_text()
            self.server.clean()
            config.parent.mkdir()
            config.write_text(text + f'data_dir = "{to}"\n')
            self.addCleanup(self.server.run, "rm", "-rf", "/srv")
            (self.server.root / "srv").mkdir(exist_ok=True)
            self.adopt()
        done = self.install("--upgrade", "--helper")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return config, int(self.server.run("id", "-u", "bcd").stdout)

    def test_a_table_put_in_by_hand(self):
        self.add_useradd()
        self.addCleanup(self.server.run, "systemctl", "stop", "bcd-helper")
        self.script()
        self.adopt()
        config = self.server.root / "etc/bcd/config.toml"
        self.assertEqual(config.stat().st_mode & 0o777, 0o600)
        config.write_text(config.read_text() + '[helper]\nuser = "bcd"\n')
        config.parent.chmod(0o700)
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.user_of("bcd"), "bcd")
        self.assertEqual(config.stat().st_mode & 0o777, 0o644)
        self.assertEqual(config.parent.stat().st_mode & 0o777, 0o711)
        # What that user could read already is left as it is.
        group = int(self.server.run("id", "-g", "bcd").stdout)
        os.chown(config, 0, group)
        config.chmod(0o640)
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.user_of("bcd"), "bcd")
        self.assertEqual(config.stat().st_mode & 0o777, 0o640)
        self.assertEqual(config.stat().st_gid, group)
        # A group that it is not of.
        os.chown(config, 0, group + 1)
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.user_of("bcd"), "bcd")

    def test_root_has_its_folder_again(self):
        config, user = self.by_helper("/srv/bcd")
        folder = self.server.root / "srv/bcd"
        self.assertEqual(folder.stat().st_uid, user)
        (folder / "foreign").write_text("")
        os.chown(folder / "foreign", 1234, 1234)
        config.write_text(config.read_text().split("\n[helper]")[0] + "\n")
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for path in (folder, folder / "identity.json", folder / "node.key",
                     folder / "bcd.lock"):
            self.assertEqual(path.stat().st_uid, 0, path)
        self.assertEqual((folder / "foreign").stat().st_uid, 1234)
        self.assertEqual(self.user_of("bcd"), "root")
        # It let go of the folder before that changed hands.
        asked = self.server.asked()
        self.assertEqual(asked[asked.index(
            "disable --now bcd-helper.service") + 1], "stop bcd.service")
        self.assertIsNone(self.drop_in(self.server, HELPER))

    def test_another_folder_in_the_same_edit_is_not_taken(self):
        config, user = self.by_helper("/srv/bcd")
        other = self.server.root / "srv/other"
        other.mkdir(mode=0o700)
        (other / "foreign").write_text("")
        os.chown(other / "foreign", 1234, 1234)
        config.write_text(config.read_text().split("\n[helper]")[0].replace(
            "/srv/bcd", "/srv/other") + "\n")
        self.server.be_another()
        self.adopt()
        self.assertEqual((other / "foreign").stat().st_uid, 1234)
        self.assertEqual((self.server.root / "srv/bcd").stat().st_uid, user)
        self.assertEqual(self.user_of("bcd"), "root")

    def test_a_user_that_the_folder_is_not_of(self):
        config, _ = self.by_helper()
        before = self.server.service()
        config.write_text(config.read_text().replace('"bcd"', '"other"'))
        self.assert_changes_nothing("belongs neither to root nor to other",
                                    "nothing was changed")
        self.assertEqual(self.server.service(), before)
        # As it says.
        self.server.run("systemctl", "stop", "bcd")
        self.server.run("chown", "-hR", "0:0", "/var/lib/bcd")
        done = self.install()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.user_of("bcd"), "other")

    def test_a_folder_that_bcd_does_not_hand_over(self):
        self.add_useradd()
        self.addCleanup(self.server.run, "systemctl", "stop", "bcd-helper")
        self.script()
        self.adopt()
        (self.server.root / "var/lib/bcd").chmod(0o755)
        done = self.install("--upgrade", "--helper")
        self.assert_stops(done, "could not be given to bcd, and bcd.service "
                                "is stopped")
        self.assertIsNone(self.server.service())

    def test_a_helper_unit_of_another(self):
        self.add_useradd()
        self.addCleanup(self.server.run, "systemctl", "stop", "bcd-helper")
        self.script()
        self.adopt()
        unit = self.server.root / HELPER_UNIT
        kept = unit.with_name(unit.name + ".before")
        self.addCleanup(kept.unlink, missing_ok=True)
        unit.write_text("# by hand\n")
        done = self.install("--upgrade", "--helper")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("bcd-helper.service.before", done.stdout)
        self.assertEqual(kept.read_text(), "# by hand\n")
        # Its own, and one by hand that is the same, are nobody else's.
        for path in (None, self.server.root / HELPER):
            if path:
                path.unlink()
            done = self.install()
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("not this script's", done.stdout)

    def test_users_that_it_cannot_be(self):
        self.script()
        self.adopt()
        config = self.server.root / "etc/bcd/config.toml"
        text = config.read_text()
        for user in ("root", "b c", "Bcd", "bcd;id", "-x", "%n"):
            config.write_text(text + f'[helper]\nuser = "{user}"\n')
            self.assert_changes_nothing("is not one that", "nothing was")
        # None that exists, and nothing that makes one.
        config.write_text(text + "[helper]\n")
        self.assert_changes_nothing("no user bcd, and no useradd")
        self.assertEqual(os.stat(config).st_mode & 0o777, 0o600)
