#include "daemon/rejoin.hpp"
#include "daemon/trusted_pins.hpp"
#include "pki/digest.hpp"

#include <thread>

// `bcd join --attestor x509pop`: one machine, once, for a person.
namespace bc::daemon {

namespace {

using end = renewal_attempt::end;

constexpr milliseconds first_wait{1'000};

join_outcome ended(join_exit code, std::string message) {
  return {code, std::move(message), {}, std::nullopt, false};
}

join_exit exit_for(end what) {
  switch (what) {
    case end::renewed:
      return join_exit::joined;
    case end::refused:
      return join_exit::refused;
    case end::untrusted:
      return join_exit::untrusted;
    case end::no_key:
      return join_exit::local;
    case end::unreachable:
    case end::lost:
      return join_exit::unreachable;
    case end::unavailable:
      break;
  }
  return join_exit::unavailable;
}

void rest(const join_options& options, milliseconds time) {
  // Half to the whole of it, as a join's.
  const auto random = pki::random_bytes(2);
  const auto part = (random[0] << 8 | random[1]) % 1000;
  const auto some = time / 2 + time * part / 2000;
  if (options.wait)
    options.wait(some);
  else
    std::this_thread::sleep_for(some);
}

renewal_attempt try_it(const config& c, const identity_store& store,
                       const node_identity& me, const rejoin_tools& tools,
                       const join_options& options) {
  for (int again = 0;; ++again) {
    auto got = attempt_rejoin(c, store, me, tools);
    if ((got.what != end::lost && got.what != end::unavailable) ||
        again == options.retries)
      return got;
    rest(options, first_wait * (1 << again));
  }
}

}  // namespace

join_outcome run_rejoin(const config& c, const rejoin_tools& tools,
                        const join_options& options) {
  if (auto checked = check(c); !checked)
    return ended(join_exit::usage, checked.error().message);
  auto store = identity_store::open(c.data_dir, tools.keys.keeper());
  if (!store)
    return ended(join_exit::local, store.error().message);
  auto found = store.value().look();
  if (!found)
    return ended(join_exit::local, found.error().message);
  const auto& look = found.value();
  if (!look.pair)
    return ended(join_exit::local,
                 "there is no certificate to join by: " +
                     (look.absent ? "this machine has not joined" : look.why));
  if (auto settled = store.value().settle(look); !settled)
    return ended(join_exit::local, settled.error().message);
  const auto trusting = with_pins_of(c, look.pair->who);
  auto with = tools;
  if (!with.post)
    with.post = [&trusting](std::string_view path, std::string_view body) {
      return post_to_gateway(trusting, path, body, nullptr);
    };
  auto got = try_it(c, store.value(), *look.pair, with, options);
  if (!got.renewed) {
    auto message = got.why;
    if (got.what == end::refused)
      message +=
          "; its operator reads why in security.join.refused. With a "
          "token: bcd join --reset --yes";
    return ended(exit_for(got.what), std::move(message));
  }
  const auto& who = got.renewed->who;
  if (auto kept = store.value().renew(got.renewed->key, who); !kept)
    return ended(join_exit::local,
                 kept.error().message +
                     "; run the same command again within 10 minutes");
  store.value().forget_pending();
  return {join_exit::joined,
          "joined again as " + who.node_id + "\ncertificate expires at " +
              to_rfc3339(who.not_after),
          who.node_id,
          who.not_after,
          false,
          true};
}

}  // namespace bc::daemon
