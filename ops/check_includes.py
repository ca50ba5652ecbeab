#!/usr/bin/env python3
"""Holds each folder to what it may include (docs/architecture.md)."""
import pathlib
import re
import sys

# A folder may use those before it, never those after it.
ORDER = ["base", "pki", "events", "projections", "actors", "gateway", "ops"]
ALLOWED = {f: set(ORDER[: i + 1]) | {"schema"} for i, f in enumerate(ORDER)}
ALLOWED["daemon"] = {"base", "pki", "daemon", "schema"}
ALLOWED["ops"].add("daemon")

PRIVATE_ASIO_HEADERS = {"byte_stream.hpp", "connection.hpp",
                        "gateway_tls.hpp", "listener.hpp", "quiet_stream.hpp",
                        "relay_api.hpp", "relay_link.hpp",
                        "relay_session.hpp", "relay_tls.hpp",
                        "relay_trial.hpp", "session.hpp", "tls_context.hpp",
                        "watch_keeper.hpp"}

# Third-party headers and where they may appear.
LIBRARIES = [
    (r"caf/", lambda p: p.parts[0] in ("actors",)),
    (r"openssl/", lambda p: (p.parts[0] == "pki" or
                             p.parts[0] in ("gateway", "daemon")) and
     (p.suffix == ".cpp" or p.name in ("ossl.hpp", "quiet_stream.hpp"))),
    # In gateway's private headers too, never in a public one.
    (r"boost/(beast|asio)", lambda p: p.parts[0] in ("gateway", "daemon") and
     (p.suffix == ".cpp" or p.name in PRIVATE_ASIO_HEADERS)),
    (r"boost/outcome", lambda p: p == pathlib.Path("base/result.hpp")),
    (r"sqlite3\.h", lambda p: p == pathlib.Path("events/sqlite.cpp")),
    (r"libpq|pg_config", lambda p: p.parts[0] == "events" and
     p.name.startswith("postgres") and p.suffix == ".cpp"),
    (r"librdkafka/", lambda p: p.parts[:2] == ("events", "kafka") and
     (p.suffix == ".cpp" or p.name == "rdkafka.hpp")),
    (r"CLI/", lambda p: p.parts[0] in ("ops", "daemon") and
     p.suffix == ".cpp"),
    (r"toml\+\+", lambda p: p.parts[0] in ("daemon", "ops") and
     p.suffix == ".cpp"),
    # Elsewhere base/json.hpp is the JSON layer.
    (r"rapidjson/", lambda p: p.parts[0] == "base" or
     p == pathlib.Path("actors/api/schema_check.cpp")),
    (r"spdlog/", lambda p: p.parts[0] in ("actors", "gateway", "ops")),
]

INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]')


def faults(path):
    folder = path.parts[0]
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        name = match.group(1)
        target = name.split("/")[0]
        if target in (".", ".."):
            yield f"{path}:{number}: name it from the root, not by {target}/"
        if target in ALLOWED and target not in ALLOWED[folder]:
            yield f"{path}:{number}: {folder}/ may not include {target}/"
        for pattern, allowed in LIBRARIES:
            if re.match(pattern, name) and not allowed(path):
                yield f"{path}:{number}: {name} does not belong here"


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    found = []
    for folder in ALLOWED:
        for path in sorted(p for p in (root / folder).rglob("*")
                           if p.suffix in (".cpp", ".hpp", ".h", ".cc",
                                           ".ipp")):
            found += faults(path.relative_to(root))
    print("\n".join(found), file=sys.stderr) if found else None
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
