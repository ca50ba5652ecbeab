"""TPM 2.0 commands by hand, and a software TPM to send them to.

The product's own daemon goes through tss2; here nothing stands between the
specification and the bytes.
"""
import os
import pathlib
import shutil
import socket
import struct
import subprocess
import time

OWNER, NULL, ENDORSEMENT, PLATFORM = (0x40000001, 0x40000007, 0x4000000B,
                                      0x4000000C)
PASSWORD = 0x40000009
NO_SESSIONS, SESSIONS = 0x8001, 0x8002
RETRY = 0x922

AES128 = struct.pack(">HHH", 6, 128, 0x43)
AES256 = struct.pack(">HHH", 6, 256, 0x43)
NONE = struct.pack(">H", 0x10)
SHA256, SHA384 = 0x0B, 0x0C
ECDSA256 = struct.pack(">HH", 0x18, SHA256)

POLICY_A = bytes.fromhex("837197674484b3f81a90cc8d46a5d724"
                         "fd52d76e06520b64f2a1da1b331469aa")
POLICY_A_384 = bytes.fromhex(
    "8bbf2266537c171cb56e403c4dc1d4b64f432611dc386e6f"
    "532050c3278c930e143e8bb1133824ccb431053871c6db53")
POLICY_B_384 = bytes.fromhex(
    "b26e7d28d11a50bc53d882bcf5fd3a1a074148bb35d3b4e4"
    "cb1c0ad9bde419cacb47ba09699646150f9fc000f3f80e12")


class TpmError(Exception):
    def __init__(self, code):
        super().__init__(f"TPM error {code:#x}")
        self.code = code


def sized(data):
    return struct.pack(">H", len(data)) + data


def public(kind, name_alg, attributes, policy, parameters, unique):
    return (struct.pack(">HHI", kind, name_alg, attributes) + sized(policy) +
            parameters + unique)


def rsa(bits, cipher=NONE, scheme=NONE):
    return cipher + scheme + struct.pack(">HI", bits, 0)


def ecc(curve, cipher=NONE, scheme=NONE):
    return cipher + scheme + struct.pack(">H", curve) + NONE


# TCG EK Credential Profile: L-1, L-2 and the high range's H-3; the last as the
# high range has it for RSA-3072 but with the policy of the low one.
EK_TEMPLATES = {
    "rsa2048": public(1, SHA256, 0x300B2, POLICY_A, rsa(2048, AES128),
                      sized(bytes(256))),
    "p256": public(0x23, SHA256, 0x300B2, POLICY_A, ecc(3, AES128),
                   sized(bytes(32)) * 2),
    "p384": public(0x23, SHA384, 0x300F2, POLICY_B_384, ecc(4, AES256),
                   sized(b"") * 2),
    "rsa3072": public(1, SHA384, 0x300B2, POLICY_A_384, rsa(3072, AES256),
                      sized(b"")),
}


def ak_template(attributes=0x50472, unique=b""):
    return public(0x23, SHA256, attributes, b"", ecc(3, NONE, ECDSA256),
                  sized(unique) + sized(b""))


SRK_TEMPLATE = public(0x23, SHA256, 0x30472, b"", ecc(3, AES128),
                      sized(b"") * 2)


def node_key_template(attributes=0x40472):
    return public(0x23, SHA256, attributes, b"", ecc(3, NONE, ECDSA256),
                  sized(b"") * 2)


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, size):
        out, self.data = self.data[:size], self.data[size:]
        assert len(out) == size
        return out

    def number(self, size):
        return int.from_bytes(self.take(size), "big")

    def sized(self):
        return self.take(self.number(2))


class Tpm:
    """One connection to a software TPM."""

    def __init__(self, port):
        deadline = time.monotonic() + 10
        while True:
            try:
                self.socket = socket.create_connection(("127.0.0.1", port),
                                                       timeout=30)
                break
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def close(self):
        self.socket.close()

    def send(self, command, handles=(), sessions=None, parameters=b"",
             answers_handle=False):
        """(handle or None, the response's parameters)"""
        body = b"".join(struct.pack(">I", h) for h in handles)
        if sessions is not None:
            area = b"".join(struct.pack(">I", s) + sized(b"") + b"\x01" +
                            sized(b"") for s in sessions)
            body += struct.pack(">I", len(area)) + area
        body += parameters
        tag = NO_SESSIONS if sessions is None else SESSIONS
        packet = struct.pack(">HII", tag, 10 + len(body), command) + body
        while True:
            self.socket.sendall(packet)
            head = self._receive(10)
            tag, size, code = struct.unpack(">HII", head)
            reader = Reader(self._receive(size - 10))
            if code != RETRY:
                break
        if code:
            raise TpmError(code)
        handle = reader.number(4) if answers_handle else None
        if tag == SESSIONS:
            return handle, Reader(reader.take(reader.number(4)))
        return handle, reader

    def _receive(self, size):
        out = b""
        while len(out) < size:
            part = self.socket.recv(size - len(out))
            assert part, "the TPM closed the connection"
            out += part
        return out

    def create_primary(self, hierarchy, template):
        """(handle, TPMT_PUBLIC)"""
        handle, out = self.send(
            0x131, [hierarchy], [PASSWORD],
            sized(sized(b"") * 2) + sized(template) + sized(b"") +
            bytes(4), answers_handle=True)
        return handle, out.sized()

    def create(self, parent, template):
        """(TPM2B_PRIVATE's content, TPMT_PUBLIC)"""
        _, out = self.send(0x153, [parent], [PASSWORD],
                           sized(sized(b"") * 2) + sized(template) +
                           sized(b"") + bytes(4))
        private = out.sized()
        return private, out.sized()

    def load(self, parent, private, area):
        handle, _ = self.send(0x157, [parent], [PASSWORD],
                              sized(private) + sized(area),
                              answers_handle=True)
        return handle

    def load_external(self, sensitive, area, hierarchy=NULL):
        handle, _ = self.send(0x167, (), None, sized(sensitive) + sized(area) +
                              struct.pack(">I", hierarchy),
                              answers_handle=True)
        return handle

    def flush(self, handle):
        self.send(0x165, (), None, struct.pack(">I", handle))

    def open_handles(self):
        """Objects and sessions that are in the TPM."""
        out = []
        for first in (0x80000000, 0x02000000, 0x03000000):
            _, answer = self.send(0x17A, (), None,
                                  struct.pack(">III", 1, first, 64))
            answer.take(5)
            out += [answer.number(4) for _ in range(answer.number(4))]
        return out

    def read_public(self, handle):
        return self.send(0x173, [handle])[1].sized()

    def evict(self, handle, persistent):
        self.send(0x120, [OWNER, handle], [PASSWORD],
                  struct.pack(">I", persistent))

    def certify(self, key, ak, data, scheme=NONE):
        """(TPMS_ATTEST, TPMT_SIGNATURE)"""
        _, out = self.send(0x148, [key, ak], [PASSWORD, PASSWORD],
                           sized(data) + scheme)
        return out.sized(), out.data

    def quote(self, ak, data):
        _, out = self.send(0x158, [ak], [PASSWORD], sized(data) + NONE +
                           struct.pack(">IHB", 1, SHA256, 3) + b"\1\0\0")
        return out.sized(), out.data

    def sign(self, key, digest):
        """(r, s); the digest was made outside the TPM."""
        _, out = self.send(0x15D, [key], [PASSWORD], sized(digest) + NONE +
                           struct.pack(">HI", 0x8024, NULL) + sized(b""))
        assert out.take(4) == ECDSA256
        return out.sized(), out.sized()

    def activate(self, ak, ek, area, blob, encrypted):
        """The secret; blob and encrypted are whole TPM2Bs."""
        name_alg, attributes = struct.unpack(">HI", area[2:8])
        session = PASSWORD
        if not attributes & 0x40:
            session, _ = self.send(
                0x176, [NULL, NULL], None, sized(bytes(16)) + sized(b"") +
                b"\x01" + NONE + struct.pack(">H", name_alg),
                answers_handle=True)
            self.send(0x151, [ENDORSEMENT, session], [PASSWORD],
                      sized(b"") * 3 + bytes(4))
        try:
            _, out = self.send(0x147, [ak, ek], [PASSWORD, session],
                               blob + encrypted)
        except TpmError:
            if session != PASSWORD:
                self.flush(session)
            raise
        if session != PASSWORD:
            self.flush(session)
        return out.sized()

    def clear(self):
        self.send(0x126, [PLATFORM], [PASSWORD])

    def read_index(self, index):
        out = self.send(0x169, [index])[1].sized()
        size = int.from_bytes(out[-2:], "big")
        data = b""
        while len(data) < size:
            _, part = self.send(0x14E, [index, index], [PASSWORD],
                                struct.pack(">HH", min(512, size - len(data)),
                                            len(data)))
            data += part.sized()
        return data


class SoftwareTpm:
    """A swtpm of its own in a folder, made with EK certificates of its own CA."""

    def __init__(self, folder, port, state=None):
        self.folder, self.port = pathlib.Path(folder), port
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state, self.process = self.folder / "state", None
        if state:
            shutil.copytree(state, self.state)
        else:
            self.state.mkdir()
            self._manufacture()
        self.start()

    def _manufacture(self):
        ca = self.folder / "ca"
        ca.mkdir()
        (self.folder / "setup.conf").write_text(
            f"create_certs_tool={shutil.which('swtpm_localca')}\n"
            f"create_certs_tool_config={self.folder}/localca.conf\n"
            f"create_certs_tool_options={self.folder}/localca.options\n"
            "active_pcr_banks=sha256\n")
        (self.folder / "localca.conf").write_text(
            f"statedir = {ca}\nsigningkey = {ca}/signkey.pem\n"
            f"issuercert = {ca}/issuercert.pem\n"
            f"certserial = {ca}/certserial\n")
        (self.folder / "localca.options").write_text(
            "--platform-manufacturer Example\n--platform-version 1\n"
            "--platform-model Example\n")
        done = subprocess.run(
            ["swtpm_setup", "--tpm2", "--tpmstate", self.state,
             "--create-ek-cert", "--lock-nvram", "--config",
             self.folder / "setup.conf"], capture_output=True, text=True,
            timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr

    def start(self):
        self.process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.state}",
             "--ctrl", f"type=tcp,port={self.port + 1},bindaddr=127.0.0.1",
             "--server", f"type=tcp,port={self.port},bindaddr=127.0.0.1",
             "--flags", "not-need-init,startup-clear"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(10)
            self.process = None

    def restart(self):
        self.stop()
        self.start()

    def connect(self):
        return Tpm(self.port)

    def certificate(self, name):
        """DER of a certificate of its CA."""
        done = subprocess.run(
            ["openssl", "x509", "-in", self.folder / "ca" / name, "-outform",
             "der"], capture_output=True, check=True)
        return done.stdout


# Below the ports that the system hands out, apart for each process.
next_port = 20000 + os.getpid() % 2500 * 4


def two_free_ports():
    """The first of two ports next to each other that nothing listens on; never
    the same again."""
    global next_port
    while next_port < 32000:
        port, next_port = next_port, next_port + 2
        try:
            for p in (port, port + 1):
                with socket.socket() as s:
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    s.bind(("127.0.0.1", p))
            return port
        except OSError:
            continue
    raise RuntimeError("no free ports")


def der(tag, *parts):
    body = b"".join(parts)
    if len(body) < 128:
        return bytes([tag, len(body)]) + body
    size = len(body).to_bytes((len(body).bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(size)]) + size + body


def der_integer(number):
    number = number.lstrip(b"\0") or b"\0"
    return der(2, (b"\0" if number[0] & 0x80 else b"") + number)
