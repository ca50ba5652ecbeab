#pragma once

#include "base/wire.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What payloads and outputs of the kinds of commands that the server itself
/// understands hold. An output is whatever a machine sent.
namespace bc::events {

/// Of `inventory.collect`: {"claims":{…}}, as a join request has them. nullopt
/// for anything else.
[[nodiscard]] std::optional<wire::claims> claims_in(std::string_view output);

/// The payload of `acceptance.run`: {"checks":["burn-in"]}.
[[nodiscard]] std::string acceptance_payload(
    const std::vector<std::string>& checks);

/// A daemon says that it did not carry a command out, or not to its end, and
/// that this says nothing of the machine: its time was up, or bcd was restarted
/// meanwhile ({"error":"expired"}, {"error":"interrupted"}).
[[nodiscard]] bool was_not_run(bool succeeded, std::string_view output);

/// Which checks of an `acceptance.run` did not pass; empty: all passed. The
/// output is {"passed":false,"failed":["burn-in"]}; names that were not asked
/// for are left out, and one that names none, contradicts itself or is no such
/// object has failed them all. nullopt: it was_not_run().
[[nodiscard]] std::optional<std::vector<std::string>> failed_checks(
    std::string_view payload, bool succeeded, std::string_view output);

}  // namespace bc::events
