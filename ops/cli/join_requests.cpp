#include "ops/cli/join_requests.hpp"

#include "ops/cli/api_groups.hpp"
#include "ops/cli/cells.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/display_text.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/server.hpp"
#include "ops/cli/show.hpp"
#include "ops/cli/terminal.hpp"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <unistd.h>
#include <utility>

namespace bc::cli {

namespace {

constexpr const char* an_id = "jreq_01k5w3c9t8e4m2v6h0a7n1p5qd";

struct decision_options {
  std::string method;  // "approve" or "reject"
  std::string id;
  std::string file;
  std::string csr_sha256;
  std::string reason;
  std::int64_t ttl = 3600;
  bool yes = false;

  [[nodiscard]] bool approves() const { return method == "approve"; }
};

/// A request to be decided, as it was when it was looked at.
struct looked_at {
  chosen_request what;
  json::document record;  // null when the pool cannot see it
};

cell csr_cell(const json::value& row, const presentation&) {
  auto text = cell_of(member_of(row, "csrSha256")).text;
  return {text.substr(0, shown_csr_digits)};
}

// That somebody else's attempt may have taken the place of the first.
cell changed_cell(const json::value& row, const presentation&) {
  const auto& changed = member_of(row, "claimsChanged");
  return changed.IsTrue() ? cell{"changed", tone::attention} : cell{"-"};
}

// That another machine, or the same with another face, waits with its MAC.
cell same_mac_cell(const json::value& row, const presentation&) {
  return member_of(row, "sameMac").IsTrue() ? cell{"shared", tone::attention}
                                            : cell{"-"};
}

cell machine_cell(const json::value& row, const presentation&) {
  const auto& claims = member_of(row, "claims");
  for (const char* field : {"serials", "macs", "productUuid", "hostname"}) {
    const auto& value = member_of(claims, field);
    if (!value.IsNull() && !(value.IsArray() && value.Empty()))
      return cell_of(value);
  }
  return {"-"};
}

std::vector<column> request_columns() {
  return {text_column("ID", "id"),
          state_column("STATE", "state"),
          text_column("ATTESTOR", "attestor"),
          {"MACHINE", machine_cell, true},
          {"CSR", csr_cell},
          when_set({"CLAIMS", changed_cell}),
          when_set(text_column("EK CERT", "ekCert")),
          when_set(text_column("MAC", "mac")),
          when_set({"SAME MAC", same_mac_cell}),
          time_column("CREATED", "createdAt"),
          time_column("EXPIRES", "expiresAt", tone::bad),
          when_set(free_column("REASON", "reason"))};
}

json::document input_of(const context& ctx) {
  json::document input;
  input.SetObject();
  member_at(input, "tenantId")
      .SetString(ctx.tenant.c_str(), input.GetAllocator());
  member_at(input, "poolId").SetString(ctx.pool.c_str(), input.GetAllocator());
  return input;
}

// The list alone shows a request, from a place right before it. False when the
// call failed, which was then reported.
bool look(context& ctx, looked_at& at) {
  auto input = input_of(ctx);
  member_at(input, "state").SetString("all");
  auto page = call_pages(ctx, "joinRequests", "list", input,
                         {1, cursor_before(at.what.id)});
  if (!page)
    return false;
  const auto& items = member_of(*page, "items");
  if (items.IsArray() && !items.Empty() &&
      cell_of(member_of(items[0], "id")).text == at.what.id)
    at.record.CopyFrom(items[0], at.record.GetAllocator());
  return true;
}

// What is approved is the CSR that was shown, or named: none is asked for
// without it, since the machine may come with another meanwhile.
result<void> pin_csr(looked_at& at, bool was_shown) {
  auto& csr = at.what.csr_sha256;
  if (is_whole_csr(csr))
    return ok();
  const auto held = at.record.IsObject()
                        ? cell_of(member_of(at.record, "csrSha256")).text
                        : std::string{};
  if (!is_whole_csr(held))
    return fail(errc::not_found,
                "The pool does not see such a request, or not yet; try again");
  if (!held.starts_with(csr))
    return fail(errc::conflict,
                "The machine came with another certificate request since; "
                "look at the join request again");
  if (csr.empty() && !was_shown &&
      member_of(at.record, "claimsChanged").IsTrue())
    return fail(errc::conflict,
                "It is not what it was opened as; look at it, and name with "
                "--csr, or beside its id in the file, the CSR that you saw");
  csr = held;
  return ok();
}

std::string body_of(const context& ctx, const decision_options& o,
                    const chosen_request& what) {
  json::writer out;
  out.begin_object()
      .field("tenantId", ctx.tenant)
      .field("poolId", ctx.pool)
      .field("requestId", what.id);
  if (o.approves())
    out.field("ttlSeconds", o.ttl).field("csrSha256", what.csr_sha256);
  if (!o.reason.empty())
    out.field("reason", o.reason);
  return out.end_object().str();
}

bool is_terminal() {
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
}

void preview(const context& ctx, const std::vector<looked_at>& all) {
  json::document items;
  items.SetArray();
  for (const auto& one : all)
    if (one.record.IsObject())
      items.PushBack(json::value{one.record, items.GetAllocator()},
                     items.GetAllocator());
  if (!items.Empty())
    std::cerr << table_text(request_columns(), items,
                            presentation_of_output(ctx.utc));
  for (const auto& one : all)
    if (!one.record.IsObject())
      std::cerr << one.what.id << " is not this pool's to see\n";
}

std::string question_of(const decision_options& o, std::size_t count) {
  auto out = std::string{o.approves() ? "Approve " : "Reject "};
  return out + (count == 1 ? "this join request?"
                           : std::to_string(count) + " join requests?");
}

void decide_one(context& ctx, const decision_options& o) {
  std::vector<looked_at> one(1);
  one.front().what = {o.id, o.csr_sha256};
  const bool asks = is_terminal() && !o.yes;
  // Who says which CSR is meant has looked at it.
  if (asks || (o.approves() && !is_whole_csr(o.csr_sha256)))
    if (!look(ctx, one.front()))
      return;
  if (o.approves())
    if (auto pinned = pin_csr(one.front(), asks); !pinned)
      return report(ctx, pinned.error());
  if (asks) {
    preview(ctx, one);
    if (auto sure = confirm(false, question_of(o, 1)); !sure)
      return report(ctx, sure.error(), usage);
  }
  auto record =
      call(ctx, "joinRequests", o.method, body_of(ctx, o, one.front().what));
  if (record)
    show_record(ctx, *record);
}

// A line for each, as it is done.
void show_outcome(const context& ctx, const std::string& id,
                  const std::string& state, const fault* why) {
  if (ctx.json()) {
    json::writer out;
    out.begin_object().field("id", id);
    if (why == nullptr)
      out.field("state", state);
    else
      out.key("error")
          .begin_object()
          .field("code", wire_text(why->code))
          .field("message", why->message)
          .end_object();
    std::cout << printable_json(out.end_object().str()) << std::endl;
    return;
  }
  std::cout << id << " "
            << (why == nullptr ? state
                               : std::string{wire_text(why->code)} + ": " +
                                     printable(why->message))
            << std::endl;
}

// Why it was not decided.
std::optional<call_failure> decide_listed(context& ctx,
                                          const decision_options& o,
                                          looked_at& one) {
  call_failure failure;
  if (o.approves())
    if (auto pinned = pin_csr(one, !o.yes); !pinned) {
      failure.why = pinned.error();
      failure.exit_code = refused;
      return failure;
    }
  auto record = try_call(ctx, "joinRequests", o.method,
                         body_of(ctx, o, one.what), failure);
  if (!record)
    return failure;
  show_outcome(ctx, one.what.id, cell_of(member_of(*record, "state")).text,
               nullptr);
  return std::nullopt;
}

void decide_all(context& ctx, const decision_options& o) {
  auto chosen = read_chosen_file(o.file);
  if (!chosen)
    return report(ctx, chosen.error(), usage);
  std::vector<looked_at> all;
  for (auto& what : chosen.value()) {
    all.push_back({std::move(what), {}});
    if (!look(ctx, all.back()))
      return;
  }
  preview(ctx, all);
  if (auto sure = confirm(o.yes, question_of(o, all.size())); !sure)
    return report(ctx, sure.error(), usage);
  std::size_t failed = 0;
  for (auto& one : all) {
    const auto failure = decide_listed(ctx, o, one);
    if (!failure)
      continue;
    ++failed;
    show_outcome(ctx, one.what.id, {}, &failure->why);
    // Nothing more is known of the server.
    if (failure->exit_code == unreachable)
      return report(ctx, failure->why, failure->exit_code);
  }
  if (failed > 0)
    report(ctx, fail(errc::invalid_state, std::to_string(failed) + " of " +
                                              std::to_string(all.size()) +
                                              " were not decided"));
}

void run(context& ctx, const decision_options& o) {
  if (!settle_tenant(ctx))
    return;
  if (o.id.empty() == o.file.empty())
    return report(ctx,
                  fail(errc::invalid_input,
                       "give one ID, or --file with many; see --help"),
                  usage);
  if (!o.file.empty() && !o.csr_sha256.empty())
    return report(ctx,
                  fail(errc::invalid_input,
                       "--csr is of one request; a file has it beside each id"),
                  usage);
  if (!o.csr_sha256.empty() && !names_csr(o.csr_sha256))
    return report(ctx,
                  fail(errc::invalid_input,
                       "--csr is the SHA-256 of a certificate request in hex, "
                       "or 16 digits or more that it begins with"),
                  usage);
  if (ctx.pool.empty())
    return report(ctx,
                  fail(errc::invalid_input, "--pool is required; see --help"),
                  usage);
  o.file.empty() ? decide_one(ctx, o) : decide_all(ctx, o);
}

CLI::App* add_decision(CLI::App& group, context& ctx,
                       const std::shared_ptr<decision_options>& o,
                       const std::string& help) {
  auto* c = group.add_subcommand(o->method, help);
  const auto id_argument = id("ID", "requestId", "The request's id, jreq_…");
  c->add_option(id_argument.name, o->id, id_argument.help)
      ->type_name(id_argument.value_name)
      ->check(CLI::Validator{id_argument.check, ""});
  add_path(*c, "--file", o->file,
           "File of ids, one a line, or with the CSR beside it; - reads "
           "standard input");
  add_text(*c, "--pool", ctx.pool, "The pool that decides [the profile's]");
  add_text(*c, "--reason", o->reason, "Why; kept in the event and the audit");
  add_yes(*c, o->yes);
  c->callback([&ctx, o] { run(ctx, *o); });
  return c;
}

void finish(CLI::App& c, context& ctx, const std::vector<std::string>& examples,
            const std::string& notes) {
  add_utc_option(c, ctx);
  add_tenant_option(c, ctx);
  add_server_options(c, ctx);
  add_examples(c, examples, notes);
}

}  // namespace

api_group join_requests_group() {
  return {
      "join-requests",
      "List, approve and reject joins that wait for a person",
      {{"list",
        "List the requests that a pool can decide",
        {required_or_kept(id("--pool", "poolId", "The pool [the profile's]"),
                          &context::pool),
         one_of(
             {"pending", "approved", "rejected", "expired", "consumed", "all"},
             text("--state", "state", "Those of one state [pending]"))},
        {"join-requests list", "join-requests list --state all --utc",
         "join-requests list --output json"},
        request_columns()}}};
}

// Beside the other commands of the group.
void add_join_requests(CLI::App& app, context& ctx) {
  auto* group = app.get_subcommand("join-requests");
  auto approving = std::make_shared<decision_options>();
  approving->method = "approve";
  auto* approve = add_decision(*group, ctx, approving,
                               "Admit the machine that waits, once");
  add_number(*approve, "--ttl", approving->ttl, 60, 86'400,
             "Seconds in which the machine may use it, 60 to 86400 [3600]");
  add_text(*approve, "--csr", approving->csr_sha256,
           "SHA-256 of the CSR you looked at, or as many of its digits as the "
           "list shows [the one that is shown]");
  finish(
      *approve, ctx,
      {std::string{"join-requests approve "} + an_id +
           " --ttl 900 \\\n    --reason 'rack B7 intake, ticket 4411'",
       "join-requests approve --file ids --reason 'rack B7 intake' --yes"},
      "A machine that comes with another certificate request meanwhile is "
      "not\napproved: CONFLICT. So is one whose request changed since it was "
      "opened (CLAIMS:\nchanged), when neither is it shown first nor its "
      "CSR named.");
  auto rejecting = std::make_shared<decision_options>();
  rejecting->method = "reject";
  auto* reject = add_decision(
      *group, ctx, rejecting,
      "Refuse the machine's request for good, or withdraw an approval");
  finish(*reject, ctx,
         {std::string{"join-requests reject "} + an_id +
              " --reason 'unknown serial'",
          "join-requests reject --file ids --yes"},
         {});
}

}  // namespace bc::cli
