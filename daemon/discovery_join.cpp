#include "daemon/discovery_join.hpp"

#include "base/wire_attest.hpp"
#include "daemon/printable.hpp"
#include "pki/claims_digest.hpp"

#include <memory>

namespace bc::daemon {

namespace {

std::string name_of(const endpoint& agent) {
  auto host = agent.host.find(':') == std::string::npos
                  ? agent.host
                  : "[" + agent.host + "]";
  return "http://" + host + ":" + agent.port;
}

pki::hardware_claims claims_in(const wire::join_request& body) {
  pki::hardware_claims out;
  out.macs = body.hardware.macs;
  return out;
}

// Asks one agent after the other, beginning with the one that answered last.
class agents {
 public:
  agents(std::vector<endpoint> all, discovery_tools tools)
      : all_(std::move(all)), tools_(std::move(tools)) {}

  result<void> add_vouch(wire::join_request& body,
                         std::optional<std::string> sealed) {
    vouch_request about{pki::sha256(body.csr), pki::claims_digest(body), {}};
    std::string why;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const auto which = (first_ + i) % all_.size();
      auto got = ask(all_[which], about, body);
      if (got) {
        first_ = which;
        body.discovery =
            wire::discovery_evidence{std::move(got).value(), std::move(sealed)};
        return ok();
      }
      // Only this machine can be at fault, whatever agent is asked.
      if (got.error().code == errc::invalid_state)
        return got.error();
      why += (why.empty() ? "" : "; ") + name_of(all_[which]) + " " +
             got.error().message;
    }
    return fail(errc::unavailable, "no site agent vouches: " + why);
  }

 private:
  result<std::string> ask(const endpoint& agent, vouch_request about,
                          const wire::join_request& body) {
    BC_TRY(mac, tools_.mac(agent, claims_in(body)));
    about.mac = mac;
    auto got = tools_.post(agent, vouch_path, encode(about));
    if (got.what != exchange::fate::answered)
      return fail(errc::unavailable, "does not answer: " + got.why);
    auto answer = decode_vouch_answer(got.status, got.body);
    if (!answer)
      return fail(errc::unavailable, "answers as no site agent does (HTTP " +
                                         std::to_string(got.status) + ")");
    if (const auto* refused = std::get_if<vouch_refused>(&answer.value()))
      return fail(errc::unavailable,
                  "says " + std::string{denial_text(refused->why)} + ": " +
                      printable(refused->message));
    return std::get<std::string>(answer.value());
  }

  std::vector<endpoint> all_;
  discovery_tools tools_;
  std::size_t first_ = 0;
};

}  // namespace

discovery_tools real_discovery_tools(mac_source mac) {
  return {std::move(mac), [](const endpoint& agent, std::string_view path,
                             std::string_view body) {
            return post_in_clear(agent, path, body);
          }};
}

join_evidence discovery_evidence(std::vector<endpoint> agents_to_ask,
                                 discovery_tools tools) {
  auto all =
      std::make_shared<agents>(std::move(agents_to_ask), std::move(tools));
  join_evidence out;
  out.attestor = wire::discovery_attestor;
  out.fill = [all](wire::join_request& body,
                   std::optional<std::string> sealed) {
    return all->add_vouch(body, std::move(sealed));
  };
  out.may_be_stale = true;
  return out;
}

}  // namespace bc::daemon
