#!/usr/bin/env python3
"""Checks seals.json with a second implementation (pip install jwcrypto).

  peer.py check   opens both seals of the file
  peer.py make    writes a new "peer" seal into it
"""
import json
import pathlib
import sys

from cryptography.hazmat.primitives.asymmetric import ec
from jwcrypto import jwe, jwk

path = pathlib.Path(__file__).with_name("seals.json")
golden = json.loads(path.read_text())
key = jwk.JWK.from_pyca(
    ec.derive_private_key(int(golden["recipientScalar"], 16), ec.SECP256R1()))


def seal():
    header = {"alg": "ECDH-ES+A256KW", "enc": "A256GCM", "typ": "bcjt+jwe",
              "iat": golden["iat"], "csr": golden["csr"]}
    token = jwe.JWE(golden["token"].encode(), protected=json.dumps(header))
    token.add_recipient(key)
    return token.serialize(compact=True)


def opens(text):
    token = jwe.JWE()
    token.deserialize(text, key)
    return token.payload.decode() == golden["token"]


if sys.argv[1:] == ["make"]:
    golden["peer"] = seal()
    path.write_text(json.dumps(golden, indent=2) + "\n")
for name in ("peer", "ours"):
    if golden.get(name):
        print(name, "opens" if opens(golden[name]) else "FAILS")
