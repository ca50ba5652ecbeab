#pragma once

#include "actors/api/exchange.hpp"
#include "events/credential.hpp"

#include <functional>

/// The methods behind the table of api.cpp: each gets a call that is
/// authenticated, valid, of the caller's own tenant, and authorised.
namespace bc::actors::api {

void tenants_create(exchange_ptr x);
void tenants_list(exchange_ptr x);
void sites_create(exchange_ptr x);
void sites_update(exchange_ptr x);
void sites_delete(exchange_ptr x);
void sites_get(exchange_ptr x);
void sites_list(exchange_ptr x);
void pools_create(exchange_ptr x);
void pools_update(exchange_ptr x);
void pools_archive(exchange_ptr x);
void pools_get(exchange_ptr x);
void pools_list(exchange_ptr x);
void credentials_create(exchange_ptr x);
void credentials_list(exchange_ptr x);
void credentials_revoke(exchange_ptr x);
void join_tokens_create(exchange_ptr x);
void join_tokens_list(exchange_ptr x);
void join_tokens_revoke(exchange_ptr x);
void site_tokens_create(exchange_ptr x);
void site_tokens_revoke(exchange_ptr x);
void join_requests_list(exchange_ptr x);
void join_requests_approve(exchange_ptr x);
void join_requests_reject(exchange_ptr x);
void nodes_list(exchange_ptr x);
void nodes_get(exchange_ptr x);
void nodes_adopt(exchange_ptr x);
void nodes_cordon(exchange_ptr x);
void nodes_delete(exchange_ptr x);
void nodes_revoke_identity(exchange_ptr x);
void nodes_revoke_by_token(exchange_ptr x);
void commands_enqueue(exchange_ptr x);
void commands_get(exchange_ptr x);
void commands_list(exchange_ptr x);
void audit_list(exchange_ptr x);
void joins_explain(exchange_ptr x);
void joins_simulate(exchange_ptr x);
void events_list(exchange_ptr x);

/// INVALID_INPUT for a grant under which no call of this API could pass: its
/// action covers no method's, or its resource is none those are decided on.
[[nodiscard]] result<void> check_opens_something(
    const events::credential::grant& g);

/// Comes before authorisation: answers a retry of a create from the stored
/// token or command, and goes on when there is none.
void join_tokens_replay(exchange_ptr x, std::function<void()> next);
void site_tokens_replay(exchange_ptr x, std::function<void()> next);
void commands_replay(exchange_ptr x, std::function<void()> next);

}  // namespace bc::actors::api
