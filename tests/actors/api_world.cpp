#include "tests/actors/api_world.hpp"

#include "tests/actors/answer_schema.hpp"

#include <rapidjson/pointer.h>
#include <spdlog/spdlog.h>

#include <regex>

namespace bc::api_test {

std::string json_string(std::string_view text) {
  return json::writer{}.text(text).str();
}

std::string body_of(const fields& all) {
  std::string out = "{";
  for (const auto& [name, raw] : all)
    out += (out.size() > 1 ? "," : "") + json_string(name) + ":" + raw;
  return out + "}";
}

fields with(fields all, const std::string& name, const std::string& raw) {
  if (raw.empty())
    all.erase(name);
  else
    all[name] = raw;
  return all;
}

std::string reply::at(const std::string& pointer) const {
  auto doc = json::parse(text);
  if (!doc)
    return "not JSON";
  const auto* found = rapidjson::Pointer{pointer.c_str()}.Get(doc.value());
  if (found == nullptr)
    return {};
  return found->IsString() ? found->GetString() : json::to_text(*found);
}

bool reply::has(const std::string& pointer) const {
  auto doc = json::parse(text);
  return doc && rapidjson::Pointer{pointer.c_str()}.Get(doc.value());
}

std::string reply::code() const {
  return at("/error/code");
}

std::string reply::path() const {
  return at("/error/details/0/path");
}

std::size_t reply::items() const {
  auto doc = json::parse(text);
  return doc && doc.value().HasMember("items") ? doc.value()["items"].Size()
                                               : 0;
}

std::vector<std::string> reply::ids() const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < items(); ++i)
    out.push_back(at("/items/" + std::to_string(i) + "/id"));
  return out;
}

api_world::api_world() {
  spdlog::set_level(spdlog::level::off);
  root = new_tenant("root", true);
  acme = new_tenant("acme", false);
  other = new_tenant("other", false);
  site = add_site(acme);
  pool = add_pool(acme, site);
  other_site = add_site(other);
  other_pool = add_pool(other, other_site);
  root_key = add_credential(root, "ops", {{"*", "*"}});
  acme_key = add_credential(acme, "alice", {{"*", "*"}});
  other_key = add_credential(other, "mallory", {{"*", "*"}});
  start_server();
  use(std::make_shared<actors::sync_ledger>(*store, time, reader.get()));
}

void api_world::start_server() {
  auto known = events::incarnations::load(*store);
  REQUIRE(known);
  env = std::make_shared<const actors::api_environment>(actors::api_environment{
      root, "test",
      std::make_shared<const events::incarnations>(std::move(known).value())});
}

void api_world::use(std::shared_ptr<actors::ledger> l) {
  streams = std::move(l);
}

tenant_id api_world::new_tenant(const std::string& name, bool is_root) {
  events::tenant::created c{random.id<tenant_id>(), name, is_root, time.now()};
  append({on(events::stream_of(c.id), c.id, {events::tenant::encode(c)})});
  return c.id;
}

std::string api_world::add_credential(const tenant_id& tenant,
                                      const std::string& principal,
                                      grants what) {
  auto secret = to_base64url(pki::random_bytes(32));
  events::credential::created c{random.id<credential_id>(),
                                tenant,
                                principal,
                                std::move(what),
                                time.now(),
                                to_hex(pki::sha256(as_bytes(secret)))};
  append(
      {on(events::stream_of(c.id), tenant, {events::credential::encode(c)})});
  return c.id.str() + "." + secret;
}

join_token_id api_world::add_site_token(const tenant_id& tenant,
                                        const site_id& where) {
  events::join_token::created c;
  c.id = random.hashed_id<join_token_id>();
  c.tenant = tenant;
  c.site = where;
  c.token_role = events::join_token::role::site;
  c.created_at = time.now();
  c.expires_at = time.now() + seconds{3600};
  append(
      {on(events::stream_of(c.id), tenant, {events::join_token::encode(c)})});
  return c.id;
}

pool_id api_world::add_pool_without_daemon() {
  events::pool::created c{random.id<pool_id>(),      acme,      site, "metal",
                          events::pool::agent::none, time.now()};
  append({on(events::stream_of(c.id), acme, {events::pool::encode(c)})});
  return c.id;
}

reply api_world::raw(const std::string& authorization,
                     const std::string& method, const std::string& body,
                     const std::string& min_position) {
  auto dot = method.find('.');
  std::optional<reply> got;
  actors::run_api_call(env, streams,
                       {method.substr(0, dot), method.substr(dot + 1),
                        authorization, body, "req-1", min_position},
                       [&](actors::api_reply r) {
                         REQUIRE(!got);
                         got = reply{r.status, r.body};
                       });
  REQUIRE(got);
  REQUIRE(json::parse_object(got->text));
  check_answer(method, got->status, got->text);
  return *got;
}

reply api_world::call(const std::string& key, const std::string& method,
                      const fields& input) {
  return raw("Bearer " + key, method, body_of(input));
}

fields api_world::token_input(const std::string& key) {
  return {{"tenantId", json_string(acme.str())},
          {"poolId", json_string(pool.str())},
          {"ttlSeconds", "3600"},
          {"idempotencyKey", json_string(key)}};
}

std::string api_world::incarnation() {
  return store->head().value().incarnation.str();
}

std::uint64_t api_world::position() {
  return store->head().value().position;
}

int api_world::count(std::string_view type) {
  int n = 0;
  auto all = store->read_all(0, 100'000);
  REQUIRE(all);
  for (const auto& e : all.value())
    n += e.type == type ? 1 : 0;
  return n;
}

std::string without_chance(const std::string& text) {
  static const std::regex chance{
      "(jt|site|pool|node|ten|bck|inc)_[0-9a-hjkmnp-tv-z]{26,52}|"
      "\\.[A-Za-z0-9_-]{43}"};
  std::map<std::string, std::string> names;
  std::string out;
  auto from = text.cbegin();
  for (std::sregex_iterator i{text.begin(), text.end(), chance}, end; i != end;
       ++i) {
    out.append(from, text.cbegin() + i->position());
    from = text.cbegin() + i->position() + i->length();
    auto name = i->str();
    if (name.front() == '.') {
      out += ".<secret>";
      continue;
    }
    auto kind = (*i)[1].str();
    auto [it, fresh] = names.emplace(
        name, "<" + kind + " " + std::to_string(names.size() + 1) + ">");
    out += it->second;
  }
  return out.append(from, text.cend());
}

}  // namespace bc::api_test
