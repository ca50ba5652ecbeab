"""The systemd units: complete, hardened, and understood by systemd."""
import configparser
import pathlib
import re
import shutil
import subprocess
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = sorted((ROOT / "ops" / "systemd").glob("*.service"))
DROP_IN = ROOT / "ops" / "systemd" / "better-compute-serve.secrets.conf"

HARDENED = {
    "NoNewPrivileges": "yes",
    "ProtectSystem": "strict",
    "ProtectHome": "yes",
    "PrivateTmp": "yes",
    "MemoryDenyWriteExecute": "yes",
    "RestrictNamespaces": "yes",
    "RestrictSUIDSGID": "yes",
    "LockPersonality": "yes",
    "SystemCallArchitectures": "native",
    "UMask": "0077",
    "LimitCORE": "0",
}


class Unit(configparser.RawConfigParser):
    """A unit file: keys keep their case, and may come again."""

    def __init__(self, path):
        super().__init__(strict=False, delimiters=("=",),
                         comment_prefixes=("#",))
        self.optionxform = str
        self.text = path.read_text()
        self.read_string(self.text)

    def all(self, key):
        return re.findall(rf"^{key}=(.*)$", self.text, re.MULTILINE)


def flags_of(sample):
    """The flag of each setting: its key, with dots and underscores as
    dashes."""
    text = (ROOT / "ops" / "sample" / f"{sample}.toml").read_text()
    tomllib.loads(text)
    known, section = set(), ""
    for line in text.splitlines():
        if match := re.match(r"\[([\w.]+)\]", line):
            section = match[1] + "."
        elif match := re.match(r"(?:# )?(\w+) = ", line):
            known.add("--" + re.sub(r"[._]", "-", section + match[1]))
    return known


class SystemdTest(unittest.TestCase):
    def test_every_program_has_a_unit(self):
        self.assertEqual([u.name for u in UNITS],
                         ["bcd-helper.service", "bcd-join.service", "bcd-site.service", "bcd.service",
                          "better-compute-gateway.service",
                          "better-compute-serve.service"])

    def test_units_are_hardened(self):
        for path in UNITS:
            with self.subTest(path.name):
                service = Unit(path)["Service"]
                for key, value in HARDENED.items():
                    self.assertEqual(service.get(key), value, key)
                filters = Unit(path).all("SystemCallFilter")
                self.assertEqual(filters, ["@system-service",
                                           "~@privileged @resources"])
                families = service["RestrictAddressFamilies"].split()
                self.assertNotIn("AF_PACKET", families)

    def test_servers_tell_when_they_are_ready_and_have_time_to_stop(self):
        for path in UNITS:
            if path.name.startswith("bcd"):
                continue
            with self.subTest(path.name):
                service = Unit(path)["Service"]
                self.assertEqual(service["Type"], "notify")
                self.assertEqual(service["DynamicUser"], "yes")
                # They end by themselves within 20 s (case 180).
                self.assertGreater(int(service["TimeoutStopSec"]), 20)

    def test_servers_reload_what_was_renewed(self):
        for path in UNITS:
            if path.name.startswith("bcd"):
                continue
            with self.subTest(path.name):
                service = Unit(path)["Service"]
                self.assertEqual(service["ExecReload"],
                                 "/bin/kill -HUP $MAINPID")
        # A credential is systemd's copy of the start: a reload has no other.
        gateway = Unit(ROOT / "ops/systemd/better-compute-gateway.service")
        # Each its own group: neither reads the other's keys.
        self.assertEqual(gateway["Service"]["SupplementaryGroups"],
                         "better-compute-gateway-keys")
        self.assertEqual(gateway.all("LoadCredential"), [])
        self.assertEqual(Unit(DROP_IN)["Service"]["SupplementaryGroups"],
                         "better-compute-api-keys")

    def test_the_node_is_not_restarted_when_only_a_person_can_help(self):
        service = Unit(ROOT / "ops" / "systemd" / "bcd.service")["Service"]
        self.assertEqual(service["Type"], "notify")
        self.assertEqual(service["Restart"], "always")
        # As `bcd node --help` says.
        told = (ROOT / "daemon" / "node_command.cpp").read_text()
        self.assertIn("RestartPreventExitStatus=" +
                      service["RestartPreventExitStatus"] + " ", told)
        # 7 may pass by itself: a machine must not be left without a daemon.
        self.assertEqual(service["RestartPreventExitStatus"], "2 9")
        # A daemon that waits for a join is started every time, without end.
        self.assertGreater(int(service["RestartSec"]), 10)
        # It ends by itself within 10 s.
        self.assertGreater(int(service["TimeoutStopSec"]), 10)
        self.assertEqual(service["CapabilityBoundingSet"], "")

    def test_a_site_agent_runs_as_a_node_does_and_in_its_place(self):
        node = Unit(ROOT / "ops" / "systemd" / "bcd.service")
        site = Unit(ROOT / "ops" / "systemd" / "bcd-site.service")
        self.assertEqual(site["Unit"]["Conflicts"], "bcd.service")
        ours, theirs = dict(site["Service"]), dict(node["Service"])
        self.assertEqual(ours.pop("ExecStart"),
                         theirs.pop("ExecStart").replace("bcd node", "bcd site"))
        self.assertEqual(ours, theirs)

    def test_the_helper_opens_the_tpm_and_lets_its_user_ask(self):
        unit = Unit(ROOT / "ops" / "systemd" / "bcd-helper.service")
        service = unit["Service"]
        self.assertEqual(service["Type"], "notify")
        # The device may be of another user's group; nothing else is needed.
        self.assertEqual(service["CapabilityBoundingSet"], "CAP_DAC_OVERRIDE")
        # Its user reaches the socket, and judges are the peer's credentials.
        self.assertEqual(service["RuntimeDirectory"], "bcd")
        self.assertEqual(service["RuntimeDirectoryMode"], "0755")
        # A network card's permanent MAC takes a socket, and no packets.
        self.assertEqual(service["RestrictAddressFamilies"],
                         "AF_UNIX AF_INET")
        self.assertEqual(service["IPAddressDeny"], "any")
        self.assertEqual(unit["Unit"]["Before"], "bcd.service")

    def test_a_join_at_boot_starts_the_node(self):
        service = Unit(ROOT / "ops" / "systemd" / "bcd-join.service")["Service"]
        # Without blocking: bcd.service waits for this unit.
        self.assertEqual(
            service["ExecStartPost"],
            "-+/usr/bin/systemctl --no-block restart bcd.service")
        node = Unit(ROOT / "ops" / "systemd" / "bcd.service")["Unit"]
        self.assertIn("bcd-join.service", node["After"].split())
        self.assertNotIn("7", service["RestartPreventExitStatus"].split())

    def test_no_secret_is_an_argument_or_a_variable(self):
        for path in UNITS:
            with self.subTest(path.name):
                unit = Unit(path)
                self.assertEqual(unit.all("Environment"), [])
                self.assertEqual(unit.all("EnvironmentFile"), [])
                for handed in unit.all("LoadCredential"):
                    name = handed.split(":")[0]
                    self.assertIn("${CREDENTIALS_DIRECTORY}/" + name,
                                  unit["Service"]["ExecStart"])

    def test_the_drop_in_hands_over_each_secret_it_names(self):
        unit = Unit(DROP_IN)
        copies = {name for name, value in
                  (e.split("=") for e in unit.all("Environment"))}
        self.assertEqual(copies - {"PGPASSFILE"},
                         {"BETTER_COMPUTE_KAFKA_PROPERTIES_FILE"})
        for name in copies - {"PGPASSFILE"}:
            key = name.removeprefix("BETTER_COMPUTE_").lower()
            self.assertIn("--" + key.replace("_", "-"),
                          flags_of("better-compute"))
        handed = [c.split(":") for c in unit.all("LoadCredential")]
        self.assertEqual(len(handed), len(copies))
        for name, source in handed:
            self.assertEqual(source, f"/etc/better-compute/{name}")
            self.assertIn(f"%d/{name}", unit.text)

    def test_flags_exist_in_the_samples(self):
        for unit, sample in [("better-compute-serve", "better-compute"),
                             ("better-compute-gateway", "gateway")]:
            known = flags_of(sample)
            command = Unit(ROOT / "ops" / "systemd" /
                           f"{unit}.service")["Service"]["ExecStart"]
            for flag in re.findall(r"--[\w-]+", command):
                self.assertIn(flag, known | {"--config"})

    @unittest.skipUnless(shutil.which("systemd-analyze"),
                         "systemd-analyze is not installed")
    def test_systemd_understands_the_units(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in UNITS:
                with self.subTest(path.name):
                    # The programs need not be installed here.
                    text = re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true",
                                  path.read_text(), flags=re.MULTILINE)
                    copy = pathlib.Path(folder) / path.name
                    copy.write_text(text)
                    if path.stem == "better-compute-serve":
                        more = copy.with_name(copy.name + ".d")
                        more.mkdir()
                        shutil.copy(DROP_IN, more / "secrets.conf")
                    done = subprocess.run(
                        ["systemd-analyze", "verify", "--man=no", copy],
                        capture_output=True, text=True)
                    self.assertEqual((done.returncode, done.stderr), (0, ""))
                    done = subprocess.run(
                        ["systemd-analyze", "security", "--offline=true",
                         "--no-pager", "--threshold=25", copy],
                        capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stdout[-400:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
