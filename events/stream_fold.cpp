#include "events/stream_fold.hpp"

#include "events/state_codec.hpp"
#include "events/state_view.hpp"
#include "events/streams.hpp"

#include <concepts>
#include <utility>

namespace bc::events {

namespace {

/// A kind whose states have a codec of their own (state_codec.hpp).
template <class State>
concept kept = requires(const State& s) {
  { encode_state(s) } -> std::same_as<std::string>;
};

template <class State>
constexpr int fold_version_of = 0;
template <>
constexpr int fold_version_of<join_token::state> = join_token::fold_version;
template <>
constexpr int fold_version_of<join_request::state> = join_request::fold_version;
template <>
constexpr int fold_version_of<boot_lease::state> = boot_lease::fold_version;
template <>
constexpr int fold_version_of<node::state> = node::fold_version;

template <class State, auto Decode, auto DecodeState = nullptr>
class fold_of final : public stream_fold {
 public:
  std::uint64_t version() const override { return state_.version; }

  stream_state state() const override {
    if (!shown_)
      shown_ = std::make_shared<const State>(state_);
    return shown_;
  }

  result<void> apply(const envelope& e) override {
    if (e.version != version() + 1)
      return fail(errc::internal, "The stream has a hole", {},
                  e.stream + " version " + std::to_string(e.version));
    auto event = Decode(e);
    if (!event)
      return fail(errc::internal,
                  "The stream holds events this version does not know", {},
                  e.stream + " version " + std::to_string(e.version) + ", " +
                      e.type + ": " + event.error().message);
    state_ = evolve(std::move(state_), event.value());
    shown_.reset();
    return ok();
  }

  std::string state_json(bool with_internal) const override {
    return view(state_, with_internal);
  }

  std::optional<snapshot> to_snapshot() const override {
    if constexpr (kept<State>)
      return snapshot{state_.version, fold_version_of<State>,
                      encode_state(state_)};
    else
      return std::nullopt;
  }

  bool restore(const snapshot& s) override {
    if constexpr (kept<State>) {
      if (s.fold_version != fold_version_of<State>)
        return false;
      auto state = DecodeState(s.state);
      if (!state || state.value().version != s.version)
        return false;
      state_ = std::move(state.value());
      shown_.reset();
      return true;
    } else {
      return false;
    }
  }

 private:
  State state_;
  mutable std::shared_ptr<const State> shown_;  // null: not as of now
};

using tenant_fold = fold_of<tenant::state, &tenant::decode>;
using site_fold = fold_of<site::state, &site::decode>;
using pool_fold = fold_of<pool::state, &pool::decode>;
using credential_fold = fold_of<credential::state, &credential::decode>;
using token_fold =
    fold_of<join_token::state, &join_token::decode, &join_token::decode_state>;
using request_fold = fold_of<join_request::state, &join_request::decode,
                             &join_request::decode_state>;
using node_fold = fold_of<node::state, &node::decode, &node::decode_state>;
using command_fold = fold_of<command::state, &command::decode>;
using lease_fold =
    fold_of<boot_lease::state, &boot_lease::decode, &boot_lease::decode_state>;
using refusal_fold = fold_of<refusal::state, &refusal::decode>;
using journal_fold = fold_of<journal_log::state, &journal_log::decode>;
using pki_fold = fold_of<pki_bundle::state, &pki_bundle::decode>;

}  // namespace

std::unique_ptr<stream_fold> make_stream_fold(std::string_view stream) {
  auto kind = kind_of(stream);
  if (kind == "node")
    return std::make_unique<node_fold>();
  if (kind == "join_token")
    return std::make_unique<token_fold>();
  if (kind == "join_request")
    return std::make_unique<request_fold>();
  if (kind == "tenant")
    return std::make_unique<tenant_fold>();
  if (kind == "site")
    return std::make_unique<site_fold>();
  if (kind == "pool")
    return std::make_unique<pool_fold>();
  if (kind == "credential")
    return std::make_unique<credential_fold>();
  if (kind == "command")
    return std::make_unique<command_fold>();
  if (kind == "boot_lease")
    return std::make_unique<lease_fold>();
  if (kind == "refusal")
    return std::make_unique<refusal_fold>();
  if (kind == journal_stream)
    return std::make_unique<journal_fold>();
  if (kind == pki_stream)
    return std::make_unique<pki_fold>();
  return nullptr;
}

bool has_snapshots(std::string_view stream) {
  auto kind = kind_of(stream);
  return kind == "node" || kind == "join_token" || kind == "join_request" ||
         kind == "boot_lease";
}

result<std::optional<snapshot>> snapshot_of(std::string_view stream,
                                            std::span<const envelope> events) {
  if (!has_snapshots(stream))
    return std::nullopt;
  auto fold = make_stream_fold(stream);
  for (const auto& e : events) {
    BC_TRYV(fold->apply(e));
  }
  return fold->to_snapshot();
}

}  // namespace bc::events
