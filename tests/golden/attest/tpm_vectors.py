#!/usr/bin/env python3
"""Derives tpm-vectors.json a second time, by the text of the TPM 2.0 library:
names, statements, EK hashes, and credentials from their seeds."""
import hashlib
import hmac
import json
import pathlib
import struct
import subprocess
import sys

HASHES = {0x0B: hashlib.sha256, 0x0C: hashlib.sha384}
# p, a, Gx, Gy of P-256 and P-384 (FIPS 186-4).
CURVES = {
    3: (2**256 - 2**224 + 2**192 + 2**96 - 1, -3,
        0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
        0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5),
    4: (2**384 - 2**128 - 2**96 + 2**32 - 1, -3,
        0xAA87CA22BE8B05378EB1C71EF320AD746E1D3B628BA79B9859F741E082542A38
        << 128 | 0x5502F25DBF55296C3A545E3872760AB7,
        0x3617DE4A96262C6F5D9E98BF9292DC29F8F41DBD289A147CE9DA3113B5F0B8C0
        << 128 | 0x0A60B1CE1D7E819D7A431D7C90EA0E5F),
}
SPKI_HEADS = {
    3: bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d03010703420004"),
    4: bytes.fromhex("3076301006072a8648ce3d020106052b8104002203620004"),
}


def add(curve, one, two):
    p, a = CURVES[curve][:2]
    if one is None or two is None:
        return one or two
    if one == two:
        slope = (3 * one[0] ** 2 + a) * pow(2 * one[1], -1, p)
    elif one[0] == two[0]:
        return None
    else:
        slope = (two[1] - one[1]) * pow(two[0] - one[0], -1, p)
    x = (slope ** 2 - one[0] - two[0]) % p
    return x, (slope * (one[0] - x) - one[1]) % p


def multiply(curve, number, point):
    out = None
    while number:
        if number & 1:
            out = add(curve, out, point)
        point, number = add(curve, point, point), number >> 1
    return out


def kdfa(hash_of, key, label, context, bits):
    message = (struct.pack(">I", 1) + label + b"\0" + context +
               struct.pack(">I", bits))
    return hmac.new(key, message, hash_of).digest()[:bits // 8]


def cfb(key, data):
    return subprocess.run(
        ["openssl", "enc", "-e", f"-aes-{8 * len(key)}-cfb", "-K", key.hex(),
         "-iv", "00" * 16], input=data, capture_output=True, check=True).stdout


def sized(data):
    return struct.pack(">H", len(data)) + data


def der_length(size):
    if size < 128:
        return bytes([size])
    text = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([0x80 | len(text)]) + text


def der(tag, body):
    return bytes([tag]) + der_length(len(body)) + body


class Ek:
    def __init__(self, area):
        self.kind, alg = struct.unpack(">HH", area[:4])
        self.hash_of = HASHES[alg]
        policy = int.from_bytes(area[8:10], "big")
        rest = area[10 + policy:]
        self.cipher_bits = struct.unpack(">H", rest[2:4])[0]
        rest = rest[8:]  # cipher and the scheme's NULL
        if self.kind == 1:
            self.modulus = rest[8:]
            assert rest[2:6] == bytes(4)
            return
        self.curve = struct.unpack(">H", rest[:2])[0]
        rest = rest[4:]
        size = int.from_bytes(rest[:2], "big")
        self.x, self.y = rest[2:2 + size], rest[4 + size:]

    def spki(self):
        if self.kind == 0x23:
            return SPKI_HEADS[self.curve] + self.x + self.y
        key = der(0x30, der(2, b"\0" + self.modulus) +
                  der(2, bytes.fromhex("010001")))
        return der(0x30, der(0x30, bytes.fromhex("06092a864886f70d010101"
                                                 "0500")) +
                   der(3, b"\0" + key))


def credential(ek, name, secret, random):
    """(blob, encrypted secret or None)"""
    size = ek.hash_of().digest_size
    seed, encrypted = random, None
    if ek.kind == 0x23:
        p, _, gx, gy = CURVES[ek.curve]
        width = len(ek.x)
        scalar = int.from_bytes(random, "big")
        own = [n.to_bytes(width, "big")
               for n in multiply(ek.curve, scalar, (gx, gy))]
        shared = multiply(ek.curve, scalar, (int.from_bytes(ek.x, "big"),
                                             int.from_bytes(ek.y, "big")))
        seed = ek.hash_of(struct.pack(">I", 1) +
                          shared[0].to_bytes(width, "big") + b"IDENTITY\0" +
                          own[0] + ek.x).digest()
        encrypted = sized(sized(own[0]) + sized(own[1]))
    inner = cfb(kdfa(ek.hash_of, seed, b"STORAGE", name, ek.cipher_bits),
                sized(secret))
    mac = hmac.new(kdfa(ek.hash_of, seed, b"INTEGRITY", b"", size * 8),
                   inner + name, ek.hash_of).digest()
    return sized(sized(mac) + inner), encrypted


def faults(v):
    raw = {k: bytes.fromhex(t) for k, t in v.items()
           if k not in ("name", "statement")}
    alg = raw["akPublic"][2:4]
    hash_of = HASHES[int.from_bytes(alg, "big")]
    name = alg + hash_of(raw["akPublic"]).digest()
    ek = Ek(raw["ekPublic"])
    blob, encrypted = credential(ek, name, raw["secret"], raw["random"])
    expected = {
        "akName": name,
        "qualifiedOwner": alg + hash_of(
            struct.pack(">I", 0x40000001) + name).digest(),
        "qualifiedEndorsement": alg + hash_of(
            struct.pack(">I", 0x4000000B) + name).digest(),
        "ekHash": hashlib.sha256(ek.spki()).digest(),
        "blob": blob,
    }
    if encrypted is not None:
        expected["encryptedSecret"] = encrypted
    yield from (f for f, value in expected.items() if raw[f] != value)
    short = {0x0B: "sha256", 0x0C: "sha384"}[int.from_bytes(alg, "big")]
    if v["statement"] != f"urn:bc:tpm-ak:{short}:{name[2:].hex()}":
        yield "statement"


def main():
    path = pathlib.Path(__file__).with_name("tpm-vectors.json")
    vectors = json.loads(path.read_text())
    wrong = [f"{v['name']}: {f}" for v in vectors for f in faults(v)]
    print(f"{len(vectors)} vectors", *wrong, sep="\n")
    return 1 if wrong or len(vectors) != 4 else 0


if __name__ == "__main__":
    sys.exit(main())
