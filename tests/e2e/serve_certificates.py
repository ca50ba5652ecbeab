"""Certificates are renewed while a gateway serves (docs/deploy.md)."""
import hashlib
import os
import shutil
import signal
import ssl

from deployment import wait_until
from harness import Machine

LONG = os.environ.get("BC_LONG") == "1"
TAKEN = "certificate {}: taken anew from its files"
UNCHANGED = "certificate {}: its files are unchanged"
REFUSED = "certificate {}: its files are not taken"


class CertificateCases:
    """A part of ServeTest."""

    def test_a_gateway_takes_renewed_certificates(self):
        """By SIGHUP; who is connected goes on, what does not fit is refused."""
        self.deploy()
        gateway = self.gateway("gw", self.api1, self.api2)
        token = self.d.token(self.api1, "renewed", 10)
        daemon = self.connected_daemon(gateway, "stays", token)
        before = self.shown(gateway)
        files = self.issue_again(gateway, "again")
        self.install(files, gateway)
        self.reload(gateway, TAKEN, "listen", "internal")
        after = self.shown(gateway)
        self.assertNotEqual(after, before)
        for api in (self.api1, self.api2):
            said = (f"127.0.0.1:{api.relay_port} is reached by the "
                    "certificate in its files")
            wait_until(lambda: said in gateway.said(), said)
        # Asked once more, it looks again: the other side may have been mended.
        count = gateway.said().count(said)
        self.reload(gateway, UNCHANGED, "listen", "internal")
        wait_until(lambda: gateway.said().count(said) > count, said)

        # A key of another certificate, half a chain, no CA of nodes.
        for name, text in (
                ("serving.key",
                 (self.issue_again(gateway, "other") / "serving.key")
                 .read_text()),
                ("serving.crt",
                 (files / "serving.crt").read_text()[:-60]),
                # Nobody would be asked for a certificate.
                ("node-ca.crt", "")):
            with self.subTest(name):
                (gateway.data / "pki" / name).write_text(text)
                self.reload(gateway, REFUSED, "listen")
                self.assertEqual(self.shown(gateway), after)
                self.install(files, gateway)

        # An API process that starts is reached by the new one of `internal`.
        reached = f"connected to 127.0.0.1:{self.api1.relay_port}"
        count = gateway.said().count(reached)
        self.assertEqual(self.api1.stop(), 0)
        self.api1.start()
        wait_until(lambda: gateway.said().count(reached) > count, reached)
        late = Machine(self.folder / "late")
        code, _, err = late.join(gateway, token["token"])
        self.assertEqual(code, 0, err)
        self.assertIsNone(gateway.process.poll())
        self.assertEqual(
            [line for line in daemon.lines if "no session" in line], [])
        self.assertEqual(self.d.events(self.api1, "node.disconnected"), [])

    def test_a_stolen_gateway_is_cut_off(self):
        """As docs/rotate-keys.md says it; the nodes stay what they are."""
        api = self.d.api("api-1")
        self.d.make_pool(api)
        gateway, thief = self.gateway("gw", api), self.gateway("thief", api)
        token = self.d.token(api, "stolen", 10)
        self.connected_daemon(gateway, "stays", token)
        for step in (["prepare"], ["activate", "--early"],
                     ["retire", "--early"]):
            self.d.tool("pki", "rotate", *step, "--key", "internal-ca",
                        "--store", self.d.store)
        self.assertEqual(api.stop(), 0)
        before = len(thief.said())
        api.start()
        wait_until(lambda: "handshake failed" in thief.said()[before:],
                   "the thief has no API process any more")
        self.install(self.issue_again(gateway, "again"), gateway)
        self.reload(gateway, TAKEN, "listen", "internal")
        wait_until(gateway.is_ready, "certified again, it has")
        # It went on when all this took less than two seconds.
        wait_until(lambda: all(n["connected"] for n in
                               self.d.items(api, "nodes/list")),
                   "its session is back")
        late = Machine(self.folder / "late")
        code, _, err = late.join(gateway, token["token"])
        self.assertEqual(code, 0, err)
        self.assertFalse(thief.is_ready())

    def test_nobody_has_to_tell_a_gateway(self):
        """The files are read each minute."""
        if not LONG:
            self.skipTest("takes two minutes: BC_LONG=1")
        self.deploy()
        gateway = self.gateway("gw", self.api1)
        before = self.shown(gateway)
        self.install(self.issue_again(gateway, "again"), gateway)
        wait_until(lambda: TAKEN.format("listen") in gateway.said(),
                   "taken anew", limit=240)
        self.assertNotEqual(self.shown(gateway), before)

    def issue_again(self, gateway, name):
        folder = gateway.data / name
        folder.mkdir()
        self.d.gateway_files(folder)
        return folder / "pki"

    @staticmethod
    def install(files, gateway):
        for file in files.iterdir():
            shutil.copy(file, gateway.data / "pki" / file.name)

    def reload(self, gateway, what, *names):
        count = {n: gateway.said().count(what.format(n)) for n in names}
        gateway.process.send_signal(signal.SIGHUP)
        for name in names:
            wait_until(lambda: gateway.said().count(what.format(name)) >
                       count[name], what.format(name))

    @staticmethod
    def shown(gateway):
        pem = ssl.get_server_certificate(("127.0.0.1", gateway.port))
        return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()
