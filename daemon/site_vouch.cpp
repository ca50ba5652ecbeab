#include "daemon/site_vouch.hpp"

#include "base/encoding.hpp"

#include <utility>

namespace bc::daemon {

namespace {

vouch_refused refused(vouch_denial why, std::string message) {
  return {why, std::move(message)};
}

}  // namespace

std::variant<pki::vouch::claims, vouch_refused> decide_vouch(
    const vouch_request& request, const vouch_facts& facts, std::string jti) {
  if (!facts.epoch)
    return refused(vouch_denial::boot_lease,
                   "this agent does not hold the site's boot lease");
  if (!facts.lent_to)
    return refused(vouch_denial::dhcp_lease,
                   "the DHCP server has not lent the address " + facts.ip);
  if (*facts.lent_to != request.mac)
    return refused(vouch_denial::mac, "the address " + facts.ip +
                                          " is lent to another MAC than " +
                                          request.mac);
  pki::vouch::claims out;
  out.site = facts.site;
  out.mac = request.mac;
  out.ip = facts.ip;
  out.boot_lease_epoch = *facts.epoch;
  out.csr_sha256 = request.csr_sha256;
  out.claims_sha256 = request.claims_sha256;
  out.issued_at = std::chrono::floor<seconds>(facts.now);
  out.expires_at = out.issued_at + pki::vouch::max_lifetime;
  out.jti = std::move(jti);
  return out;
}

vouch_answer vouch_desk::answer(const vouch_question& question) {
  if (!limit_.admits(question.from, tools_.since_boot()))
    return refused(vouch_denial::rate, "too many requests; wait a second");
  if (question.method != "POST" || question.path != vouch_path)
    return refused(vouch_denial::not_found, "POST /v1/vouch is all there is");
  auto request = decode_vouch_request(question.body);
  if (!request)
    return refused(vouch_denial::malformed,
                   request.error().path + " " + request.error().message);
  return judge(request.value(), question.ip);
}

vouch_answer vouch_desk::judge(const vouch_request& request,
                               const std::string& ip) {
  vouch_facts facts{tools_.site, ip, tools_.epoch(), std::nullopt,
                    tools_.server_time()};
  // An agent that does not hold the lease need not have the DHCP server.
  if (facts.epoch) {
    auto lent = tools_.lent_to(ip);
    if (!lent)
      return broken(vouch_denial::leases, lent.error().message);
    facts.lent_to = std::move(lent).value();
  }
  auto decided = decide_vouch(request, facts, pki::vouch::new_jti());
  if (auto* no = std::get_if<vouch_refused>(&decided))
    return std::move(*no);
  auto vouch = tools_.sign(std::get<pki::vouch::claims>(decided));
  if (!vouch)
    return broken(vouch_denial::signing, vouch.error().message);
  told_.clear();
  tools_.say("vouched for " + request.mac + " at " + ip + ", CSR " +
             to_hex(byte_view{request.csr_sha256}.first(8)));
  return std::move(vouch).value();
}

// Its reasons are this machine's own and stay here.
vouch_refused vouch_desk::broken(vouch_denial what, const std::string& why) {
  if (std::exchange(told_, why) != why)
    tools_.say("cannot vouch: " + why);
  return refused(what, what == vouch_denial::leases
                           ? "the DHCP leases cannot be read"
                           : "the agent's key does not sign");
}

}  // namespace bc::daemon
