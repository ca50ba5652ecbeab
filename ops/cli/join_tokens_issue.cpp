#include "actors/sync_ledger.hpp"
#include "actors/token_issuer.hpp"
#include "base/fault_point.hpp"
#include "base/json.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/duration.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/store.hpp"
#include "ops/serve/file_secrets.hpp"
#include "ops/serve/process.hpp"
#include "pki/digest.hpp"

#include <CLI/CLI.hpp>

#include <iostream>
#include <memory>
#include <optional>

namespace bc::cli {

namespace {

struct issue_options {
  std::string store, secrets, role, pool, lifetime, node, mac;
};

/// The order that they make, but for the tenant, which the pool has.
struct issue_order {
  actors::token_order token;
  std::optional<node_id> node;
};

result<issue_order> order_of(const issue_options& o, time_point now) {
  const bool discovery = o.role == "discovery";
  if (discovery && o.mac.empty())
    return fail(errc::invalid_input,
                "a discovery token is for one machine: give --mac");
  if (discovery ? !o.node.empty() : !o.mac.empty())
    return fail(errc::invalid_input,
                "--mac is of discovery tokens, --node of provisioned ones");
  issue_order out;
  BC_TRY(pool, pool_id::parse(o.pool));
  out.token.pool = pool;
  BC_TRY(lifetime, parse_duration(o.lifetime));
  out.token.lifetime = lifetime;
  out.token.actor = "system";
  out.token.correlation = pki::mint<request_id>(now).str();
  if (!o.node.empty()) {
    BC_TRY(node, node_id::parse(o.node));
    out.node = node;
  }
  return out;
}

// A sync_ledger calls back before it returns.
template <class T, class Ask>
result<T> answer_of(Ask ask) {
  std::optional<result<T>> got;
  ask([&got](result<T> r) { got.emplace(std::move(r)); });
  return std::move(*got);
}

result<actors::issued_token> issue(const issue_options& o, issue_order order) {
  using pool_state = actors::shared_state<events::pool::state>;
  system_clock time;
  BC_TRY(where, store::parse_url(o.store));
  BC_TRY(secrets, serve::open_file_secrets(o.secrets));
  BC_TRY(opened, store::open(where, time));
  auto streams = std::make_shared<actors::sync_ledger>(*opened.journal, time,
                                                       opened.queries.get());
  BC_TRY(pool, answer_of<pool_state>(
                   [&](auto done) { streams->pool(order.token.pool, done); }));
  if (!pool->pool)
    return fail(errc::not_found, "No such pool");
  order.token.tenant = pool->pool->tenant;
  actors::token_issuer issuer{streams, std::move(secrets)};
  return answer_of<actors::issued_token>([&](auto done) {
    if (o.role == "discovery")
      issuer.issue_discovery(std::move(order.token), o.mac, done);
    else
      issuer.issue_provisioned(std::move(order.token), order.node, done);
  });
}

void show(const context& ctx, const actors::issued_token& token,
          const std::string& correlation) {
  if (ctx.json()) {
    std::cout << json::writer{}
                     .begin_object()
                     .field("id", token.id.str())
                     .field("secret", token.reference)
                     .field("expiresAt", to_rfc3339(token.expires_at))
                     .field("correlation", correlation)
                     .end_object()
                     .str()
              << "\n";
    return;
  }
  std::cout << "token    " << token.id.str() << "\nsecret   " << token.reference
            << "\nexpires  " << to_rfc3339(token.expires_at) << "\nrequest  "
            << correlation << "\n";
}

}  // namespace

void add_join_tokens_issue(CLI::App& app, context& ctx) {
  auto* c =
      app.get_subcommand("join-tokens")
          ->add_subcommand(
              "issue",
              "On the store itself: mint a token for the system that a deploy "
              "installs, or for the ramdisk that a machine boots");
  auto o = std::make_shared<issue_options>();
  add_store_option(*c, o->store)->required();
  c->add_option("--role", o->role,
                "provisioned: an installed system; discovery: a ramdisk")
      ->check(CLI::IsMember({"provisioned", "discovery"}))
      ->type_name("provisioned|discovery")
      ->required();
  add_text(*c, "--pool", o->pool, "The pool the machine joins")->required();
  add_text(*c, "--ttl", o->lifetime, "Lifetime, 1m to 24h: 90s, 15m, 1h30m")
      ->required();
  add_text(*c, "--node", o->node,
           "The node that the installed system is, which the machine repeats");
  add_text(*c, "--mac", o->mac,
           "The permanent MAC of the one machine that boots the ramdisk");
  add_path(*c, "--secrets-dir", o->secrets,
           "Folder (0700) that keeps the token's text in a new file (0600)")
      ->required();
  add_output_option(*c, ctx);
  add_examples(
      *c,
      {"join-tokens issue --role provisioned --ttl 1h \\\n"
       "    --pool pool_01k5w3c9t8e4m2v6h0a7n1p5qd \\\n"
       "    --store postgres://compute@db.example.com/compute \\\n"
       "    --secrets-dir /var/lib/better-compute/secrets",
       "join-tokens issue --role discovery --ttl 30m --mac 3c:ec:ef:12:34:56 "
       "\\\n    --pool pool_01k5w3c9t8e4m2v6h0a7n1p5qd \\\n"
       "    --store postgres://compute@db.example.com/compute \\\n"
       "    --secrets-dir /var/lib/better-compute/secrets"},
      "For the tool that deploys or boots machines. It admits once. The text "
      "is never\nprinted: secret://file/NAME is the file NAME of the folder. "
      "Run it on a server's\nhost, as the server's user, and pass on only that "
      "file. The servers need not stop\nfor Postgres; an SQLite store must not "
      "be in use.");
  c->callback([&ctx, o] {
    // Standard output is the answer's.
    serve::log_to_standard_error("warn");
    if (!arm_from_environment())
      return report(
          ctx, fail(errc::invalid_config, "BC_FAULTS names an unknown point"),
          usage);
    auto order = order_of(*o, system_clock{}.now());
    if (!order)
      return report(ctx, order.error(), usage);
    const auto correlation = order.value().token.correlation;
    auto token = issue(*o, std::move(order).value());
    if (!token)
      return report(ctx, token.error());
    show(ctx, token.value(), correlation);
  });
}

}  // namespace bc::cli
