#pragma once

#include "actors/api/api.hpp"
#include "actors/sync_ledger.hpp"
#include "base/encoding.hpp"
#include "base/json.hpp"
#include "events/incarnations.hpp"
#include "events/join_token.hpp"
#include "tests/projections/store_fixture.hpp"

#include <catch2/catch.hpp>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bc::api_test {

using names = std::vector<std::string>;

/// Field name to raw JSON.
using fields = std::map<std::string, std::string>;

std::string json_string(std::string_view text);

std::string body_of(const fields& all);

/// The fields with one of them set, or (raw empty) left out.
fields with(fields all, const std::string& name, const std::string& raw);

struct reply {
  int status = 0;
  std::string text;

  /// The value at a JSON pointer as text; a string without its quotes, empty
  /// when there is none.
  [[nodiscard]] std::string at(const std::string& pointer) const;
  [[nodiscard]] bool has(const std::string& pointer) const;
  [[nodiscard]] std::string code() const;
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::size_t items() const;
  /// Ids of the items, in order.
  [[nodiscard]] std::vector<std::string> ids() const;
};

using grants = std::vector<events::credential::grant>;

/// A store with read models, a root tenant and two tenants, each with a site,
/// a pool and a credential that may do everything.
class api_world : public testing::store_fixture {
 public:
  api_world();

  /// As a server that starts now sees the journal.
  void start_server();

  void use(std::shared_ptr<actors::ledger> l);

  tenant_id new_tenant(const std::string& name, bool is_root);

  /// The bearer text of a new credential.
  std::string add_credential(const tenant_id& tenant,
                             const std::string& principal, grants what);

  /// A site token of one use, which nobody has the secret of.
  join_token_id add_site_token(const tenant_id& tenant, const site_id& where);

  pool_id add_pool_without_daemon();

  reply raw(const std::string& authorization, const std::string& method,
            const std::string& body, const std::string& min_position = {});

  reply call(const std::string& key, const std::string& method,
             const fields& input);

  fields token_input(const std::string& key = "k-1");

  /// In force now.
  std::string incarnation();

  std::uint64_t position();

  /// How many events of a type the journal holds.
  int count(std::string_view type);

  tenant_id root, acme, other;
  site_id site, other_site;
  pool_id pool, other_pool;
  std::string root_key, acme_key, other_key;
  std::unique_ptr<projections::queries> reader = queries();
  std::shared_ptr<const actors::api_environment> env;
  std::shared_ptr<actors::ledger> streams;
};

/// Ids and secrets by the order they come in, so that answers can be compared
/// with a golden.
std::string without_chance(const std::string& text);

}  // namespace bc::api_test
