#include "actors/join_token/token_attesting.hpp"

#include "base/encoding.hpp"
#include "events/streams.hpp"
#include "pki/claims_digest.hpp"
#include "pki/jwe.hpp"

#include <utility>

namespace bc::actors {

using events::refusal_reason;

namespace {

class token_attesting : public attesting,
                        public std::enable_shared_from_this<token_attesting> {
 public:
  explicit token_attesting(std::shared_ptr<const join_facts> facts)
      : facts_(std::move(facts)) {}

  [[nodiscard]] std::string_view name() const override {
    return token_attestor;
  }

  std::optional<refusal_reason> open(time_point now) override {
    const auto& sealed = facts_->request.sealed_token;
    if (!sealed)
      return refusal_reason::join_token;
    auto opened = open_token(*facts_, *sealed, now);
    if (const auto* why = std::get_if<refusal_reason>(&opened))
      return *why;
    presented_ = std::move(std::get<presented_token>(opened));
    return std::nullopt;
  }

  void prove(time_point,
             reply_to<std::optional<refusal_reason>> done) override {
    facts_->streams->token(
        presented_->id,
        [self = shared_from_this(), done = std::move(done)](
            result<shared_state<events::join_token::state>> token) {
          if (!token)
            return done(std::move(token).error());
          done(self->take(std::move(token).value()));
        });
  }

  // The token was read before the stored answer is looked for: an exhausted
  // one together with, or before, the answer that used it up.
  void decide(time_point now, reply_to<attested> done) override {
    if (auto reason =
            events::join_token::check_usable(*token_, facts_->role, now))
      return done(attested{*reason});
    if (needs_vouch())
      return done(attested{refusal_reason::token_role_mismatch});
    done(attested{std::make_shared<const events::grant>(
        events::grant_of(*token_->token))});
  }

  result<spending> spend(const node_id& node, time_point) override {
    return spend_token(*token_->token, node, facts_->csr_sha256);
  }

  [[nodiscard]] std::string answer_subject() const override {
    return presented_->id.str();
  }
  [[nodiscard]] std::optional<tenant_id> owner() const override {
    return verified_ ? std::optional{token_->token->tenant} : std::nullopt;
  }
  [[nodiscard]] std::optional<pool_id> pool() const override {
    return token_->token->pool;
  }
  [[nodiscard]] std::string token() const override {
    return presented_->id.str();
  }
  [[nodiscard]] std::optional<events::rule_verdict> compared(
      refusal_reason reason, time_point now) const override {
    if (reason == refusal_reason::token_role_mismatch && needs_vouch())
      return events::rule_verdict{std::string{events::text_of(reason)},
                                  events::verdict::failed, "attestor discovery",
                                  "attestor join-token"};
    for (auto& rule : events::token_verdicts(*token_, facts_->role, now))
      if (rule.rule == events::text_of(reason))
        return std::move(rule);
    return std::nullopt;
  }

 private:
  // The token of a boot is worth something beside a vouch, where vouches are
  // taken: alone it would go round whoever is to approve.
  [[nodiscard]] bool needs_vouch() const {
    return facts_->env->discovery &&
           token_->token->token_role == events::join_token::role::discovery &&
           facts_->role == pki::certificate_role::ramdisk;
  }

  std::optional<refusal_reason> take(
      shared_state<events::join_token::state> token) {
    token_ = std::move(token);
    auto reason = events::join_token::check_secret(*token_, presented_->secret);
    verified_ = !reason;
    return reason;
  }

  std::shared_ptr<const join_facts> facts_;
  std::optional<presented_token> presented_;
  shared_state<events::join_token::state> token_;
  bool verified_ = false;
};

}  // namespace

std::shared_ptr<attesting> make_token_attesting(
    std::shared_ptr<const join_facts> facts) {
  return std::make_shared<token_attesting>(std::move(facts));
}

std::variant<presented_token, refusal_reason> open_token(
    const join_facts& facts, const std::string& sealed, time_point now) {
  const auto& keys = *facts.env->keys;
  auto open = [&](const pki::private_key& key) {
    return pki::open_seal(key, sealed,
                          {facts.csr_sha256, pki::claims_digest(facts.request)},
                          now);
  };
  auto opened = open(keys.join_encryption);
  // A machine may have been installed before the key rotated.
  auto other = keys.others.find(pki::key_name::join_encryption);
  if (!opened && other != keys.others.end())
    opened = open(other->second.key);
  if (!opened)
    return refusal_reason::join_token;
  auto bearer = events::join_token::parse_bearer(opened.value().expose_text());
  if (!bearer)
    return refusal_reason::token_malformed;
  return presented_token{bearer->id,
                         events::join_token::secret_digest(bearer->secret)};
}

spending spend_token(const events::join_token::created& token,
                     const node_id& node, const pki::sha256_digest& csr) {
  spending out;
  out.writes.push_back(
      {events::stream_of(token.id),
       token.tenant.str(),
       std::nullopt,
       {events::join_token::encode(
           events::join_token::redeemed{token.id, node, to_hex(csr)})}});
  out.until = token.expires_at;
  return out;
}

}  // namespace bc::actors
