#pragma once

#include "base/result.hpp"
#include "daemon/commands.hpp"
#include "daemon/config.hpp"
#include "daemon/join_document.hpp"

#include <optional>
#include <string>
#include <vector>

namespace bc::daemon {

/// What `bcd join` was told.
struct join_arguments {
  std::string config_file = default_config_file;
  std::string data_dir;
  std::string role = "node";
  std::string node_id;
  std::string token_file;
  std::string server;
  std::string ca_file;
  std::string site;
  std::string attestor = "join-token";
  std::vector<std::string> site_agents;
  given_pins pins;
  bool reset = false;
  bool yes = false;
  bool no_wait = false;
};

/// Where the document of --server is fetched from.
[[nodiscard]] document_source source_of(const join_arguments& given);

/// What is joined with: a configuration that was there, or one made of the
/// control plane's document, to be written once the machine has joined.
struct set_up {
  config machine;
  std::optional<join_document> document;
};

/// INVALID_CONFIG for a configuration that is not there or not right, for pins
/// that are missing without one, and for what is given twice and differs; the
/// faults of fetching the document.
[[nodiscard]] result<set_up> set_up_for(const join_arguments& given);

}  // namespace bc::daemon
