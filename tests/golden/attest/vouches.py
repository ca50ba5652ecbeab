#!/usr/bin/env python3
"""Derives the vouches of vouches.json a second time (ATTESTATION section 4):
another program's JSON, base64url and ECDSA. With --write the file is made."""
import base64
import hashlib
import json
import pathlib
import sys

path = pathlib.Path(__file__).with_name("vouches.json")
# FIPS 186-4: P-256.
P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
     0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5)
SCALAR = 0x0707
CERTIFICATE = b"the site agent's certificate"


def add(one, two):
    if one is None or two is None:
        return one or two
    if one[0] == two[0] and (one[1] + two[1]) % P == 0:
        return None
    if one == two:
        slope = (3 * one[0]**2 - 3) * pow(2 * one[1], -1, P)
    else:
        slope = (two[1] - one[1]) * pow(two[0] - one[0], -1, P)
    x = (slope**2 - one[0] - two[0]) % P
    return x, (slope * (one[0] - x) - one[1]) % P


def times(k, point):
    out = None
    while k:
        if k & 1:
            out = add(out, point)
        point, k = add(point, point), k >> 1
    return out


def sign(text):
    digest = hashlib.sha256(text).digest()
    e = int.from_bytes(digest, "big")
    # Any number does as the nonce of a key that the whole world knows.
    k = int.from_bytes(hashlib.sha256(b"nonce" + digest).digest(), "big") % N
    r = times(k, G)[0] % N
    s = pow(k, -1, N) * (e + r * SCALAR) % N
    return r.to_bytes(32, "big") + s.to_bytes(32, "big")


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def payloads():
    plain = {
        "siteId": "site_01k5w000000000000000000000",
        "mac": "3c:ec:ef:00:00:01",
        "ip": "10.0.0.17",
        "bootLeaseEpoch": 7,
        "csrSha256": hashlib.sha256(b"csr").hexdigest(),
        "claimsSha256": hashlib.sha256(b"claims").hexdigest(),
        "iat": 1796040000,
        "exp": 1796040120,
        "jti": b64(bytes(range(16))),
    }
    yield "an address of IPv4", plain
    yield "an address of IPv6, a workflow, another order", dict(
        reversed(list(dict(plain, ip="2001:db8::17", workflowId="wf_7.a:b-c",
                           exp=1796040030).items())))


def vouches():
    thumbprint = b64(hashlib.sha256(CERTIFICATE).digest())
    for name, payload in payloads():
        header = {"alg": "ES256", "typ": "bc-vouch", "x5t#S256": thumbprint}
        text = ".".join(b64(json.dumps(part).encode())
                        for part in (header, payload))
        yield {"name": name, "scalar": f"{SCALAR:04x}",
               "certificate": CERTIFICATE.decode(), "payload": payload,
               "vouch": text + "." + b64(sign(text.encode()))}


def main():
    derived = list(vouches())
    if "--write" in sys.argv:
        path.write_text(json.dumps(derived, indent=1) + "\n")
    if json.loads(path.read_text()) != derived:
        sys.exit("vouches.json is not what is derived here")


main()
