#include "daemon/command_log.hpp"
#include "daemon/endpoint.hpp"
#include "daemon/identity.hpp"
#include "daemon/join_document.hpp"
#include "pki/jwe.hpp"
#include "tests/fuzz/targets.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace bc::fuzz {

// What a machine takes from the well-known document is what it says: the key
// has the text that is written to join-encryption.jwk, and the pins are pins.
void join_document(byte_view input) {
  auto read = daemon::parse_join_document(text_of(input));
  if (!read)
    return;
  auto key = pki::from_jwk(read.value().encryption_jwk);
  BC_MUST(key.has_value());
  BC_MUST(key.value() == read.value().encryption_key);
  BC_MUST(pki::is_pin(read.value().signing_pin));
}

// Whatever stands in journal.db, what is read of it is written whole again, and
// no command that was begun is forgotten by that.
void command_journal(byte_view input) {
  auto log = daemon::command_log::read(text_of(input));
  auto again = daemon::command_log::read(log.text());
  BC_MUST(!again.is_torn());
  BC_MUST(again.text() == log.text());
  BC_MUST(again.begun() == log.begun());
  BC_MUST(again.lines_were_lost() == log.lines_were_lost());
  for (const auto& result : log.waiting())
    BC_MUST(again.knows(result.command_id));
}

// What is read of identity.json is written and read again the same.
void identity(byte_view input) {
  auto who = daemon::decode_identity(text_of(input));
  if (!who)
    return;
  BC_MUST(!who.value().certificate_chain.empty());
  const auto text = daemon::encode(who.value());
  auto again = daemon::decode_identity(text);
  BC_MUST(again.has_value());
  BC_MUST(daemon::encode(again.value()) == text);
}

// A URL in each line: agents that are written as URLs again are the same, and
// no two are one.
void site_agents(byte_view input) {
  std::vector<std::string> urls;
  for (auto rest = text_of(input); !rest.empty();) {
    urls.emplace_back(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(urls.back().size() + 1, rest.size()));
  }
  auto agents = daemon::parse_site_agents(urls);
  if (!agents)
    return;
  BC_MUST(agents.value().size() == urls.size());
  BC_MUST(urls.size() <= daemon::most_site_agents);
  std::set<std::string> written;
  for (const auto& agent : agents.value()) {
    const auto literal = agent.host.find(':') != std::string::npos;
    const auto url = "http://" +
                     (literal ? "[" + agent.host + "]" : agent.host) + ":" +
                     agent.port;
    BC_MUST(written.insert(url).second);
    auto again = daemon::parse_site_agent_url(url);
    BC_MUST(again.has_value());
    BC_MUST(again.value().host == agent.host);
    BC_MUST(again.value().port == agent.port);
  }
}

}  // namespace bc::fuzz
