#pragma once

#include "base/json.hpp"
#include "events/credential.hpp"
#include "events/directory.hpp"
#include "events/join_token.hpp"
#include "projections/queries.hpp"

#include <cstdint>
#include <optional>
#include <string>

/// How records look in answers; the same whether they come from a read model
/// or from a stream's state.
namespace bc::actors::api {

[[nodiscard]] projections::tenant_row row_of(const events::tenant::created& c);
/// The state must hold a site.
[[nodiscard]] projections::site_row row_of(const events::site::state& s);
/// The state must hold a pool.
[[nodiscard]] projections::pool_row row_of(const events::pool::state& s);
/// The state must hold a token.
[[nodiscard]] projections::join_token_row row_of(
    const events::join_token::state& s);
/// The state must hold a credential.
[[nodiscard]] projections::credential_row row_of(
    const events::credential::state& s);

/// The fields of one record, without the braces.
void put(json::writer& out, const projections::tenant_row& row);
void put(json::writer& out, const projections::site_row& row);
void put(json::writer& out, const projections::pool_row& row);
void put(json::writer& out, const projections::join_token_row& row);
/// Never a secret or its hash: the row has none.
void put(json::writer& out, const projections::credential_row& row);
void put(json::writer& out, const projections::audit_row& row);

/// An object of identifiers in the form they are compared in: a GPU's as the
/// API takes it, the others as they are.
void put_identifiers(json::writer& out, const json::value& stored);

/// One record; a mutation's answer carries its position.
template <class Row>
[[nodiscard]] std::string record_text(
    const Row& row, std::optional<std::uint64_t> position = std::nullopt) {
  json::writer out;
  out.begin_object();
  put(out, row);
  out.field("position", position);
  return out.end_object().str();
}

template <class Row>
[[nodiscard]] std::string page_text(const projections::page<Row>& page) {
  json::writer out;
  out.begin_object().key("items").begin_array();
  for (const auto& row : page.items) {
    out.begin_object();
    put(out, row);
    out.end_object();
  }
  out.end_array().field("cursor", page.next);
  return out.end_object().str();
}

/// `limit` and `cursor` of a list.
struct paging {
  int limit = 100;
  std::string after;
};
[[nodiscard]] result<paging> read_paging(const json::reader& in);

}  // namespace bc::actors::api
