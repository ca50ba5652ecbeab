#include "base/json.hpp"
#include "events/postgres.hpp"
#include "events/sqlite.hpp"
#include "ops/cli/commands.hpp"
#include "ops/cli/options.hpp"
#include "ops/cli/store.hpp"
#include "projections/projector.hpp"

#include <CLI/CLI.hpp>

#include <iostream>

namespace bc::cli {

namespace {

struct rebuilt {
  std::uint64_t position;
  std::string checksum;
};

result<rebuilt> rebuild(sql::connection& db, events::journal& journal) {
  BC_TRY(position, projections::rebuild(db, journal));
  BC_TRY(checksum, projections::checksum(db));
  return rebuilt{position, std::move(checksum)};
}

result<rebuilt> rebuild(const store::location& where) {
  system_clock time;
  // On SQLite this takes the exclusive lock: nobody else writes.
  BC_TRY(opened, store::open(where, time));
  if (where.what == store::kind::sqlite) {
    BC_TRY(db,
           sqlite::connection::open(where.target, sqlite::mode::read_write));
    return rebuild(*db, *opened.journal);
  }
  BC_TRY(db,
         postgres::connection::open(where.target, postgres::patience::endless));
  return rebuild(*db, *opened.journal);
}

}  // namespace

void add_projections(CLI::App& app, context& ctx) {
  auto* group = app.add_subcommand("projections", "The read models of a store");
  group->require_subcommand(1);
  auto* c = group->add_subcommand("rebuild",
                                  "Make the read models anew from the journal");
  auto url = std::make_shared<std::string>();
  add_store_option(*c, *url)->required();
  add_output_option(*c, ctx);
  add_examples(
      *c,
      {"projections rebuild --store "
       "postgres://compute@db.example.com/compute"},
      "Lists and gets go on meanwhile. The servers may run on Postgres; on "
      "SQLite stop the\nserver first. Prints the position reached and a "
      "checksum over every row.");
  c->callback([&ctx, url] {
    auto where = store_at(ctx, *url);
    if (!where)
      return;
    auto done = rebuild(*where);
    if (!done)
      return report(ctx, done.error());
    if (ctx.json()) {
      json::writer out;
      out.begin_object()
          .field("position", done.value().position)
          .field("checksum", done.value().checksum)
          .end_object();
      std::cout << out.str() << "\n";
      return;
    }
    std::cout << "position  " << done.value().position << "\nchecksum  "
              << done.value().checksum << "\n";
  });
}

}  // namespace bc::cli
