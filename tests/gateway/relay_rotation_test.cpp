// issues 5: the internal CA is replaced, one side after the other.
#include "pki/rotation.hpp"
#include "relay_support.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::gateway;
using namespace bc::gateway::testing;
using pki::key_name;

namespace {

// A bundle at one of the steps: what servers run with, and what gateways were
// certified from.
relay_world at(const relay_world& base, const pki::key_bundle& keys) {
  relay_world out = base;
  out.keys = std::make_shared<const pki::key_bundle>(pki::clone(keys));
  out.gateway = out.internal(pki::internal_role::gateway, out.now);
  return out;
}

relay_client_options files_of(const relay_world& w, std::uint16_t port) {
  auto o = w.options({port});
  o.internal_ca_pem = pki::certificates_pem(
      pki::certificates_of(*w.keys, key_name::internal_ca));
  return o;
}

struct steps {
  relay_world base;
  std::vector<relay_world> all;

  steps() {
    auto keys = pki::clone(*base.keys);
    auto add = [&](result<pki::key_bundle> next) {
      keys = std::move(next).value();
      all.push_back(at(base, keys));
    };
    all.push_back(at(base, keys));
    add(pki::prepare_key(keys, key_name::internal_ca, base.now));
    add(pki::activate_key(keys, key_name::internal_ca, base.now, false));
    add(pki::retire_key(keys, key_name::internal_ca, base.now, false));
  }
};

bool meets(const relay_world& server, const relay_world& gateway) {
  echo_joins joins;
  auto api = server.listen(joins);
  auto relay = relay_world::connect(files_of(gateway, api->port()));
  return ask(*relay, {"x", "req_1", ""}).status == 200;
}

}  // namespace

TEST_CASE("relay rotation: at each step, with the files of it or of before") {
  steps s;
  for (std::size_t i = 0; i < s.all.size(); ++i) {
    CAPTURE(i);
    CHECK(meets(s.all[i], s.all[i]));
    if (i == 0)
      continue;
    CHECK(meets(s.all[i], s.all[i - 1]));
    CHECK(meets(s.all[i - 1], s.all[i]));
  }
}

TEST_CASE("relay rotation: files of two steps before are not taken") {
  steps s;
  for (auto [server, gateway] : {std::pair{3, 0}, std::pair{0, 3}}) {
    CAPTURE(server, gateway);
    echo_joins joins;
    auto api = s.all[static_cast<std::size_t>(server)].listen(joins);
    auto relay = relay_client::start(
        files_of(s.all[static_cast<std::size_t>(gateway)], api->port()));
    REQUIRE(relay);
    std::this_thread::sleep_for(milliseconds{300});
    CHECK_FALSE(relay.value()->has_healthy_api());
  }
}

TEST_CASE("relay rotation: a CA file that is none, or holds something else") {
  relay_world w;
  auto one = pki::certificate_pem(w.keys->internal_ca.certificate);
  auto starts = [&](const std::string& pem) {
    auto o = w.options({9});
    o.internal_ca_pem = pem;
    return relay_client::start(std::move(o)).has_value();
  };
  CHECK(starts(one));
  CHECK(starts("\n" + one + "\n" + one));
  CHECK_FALSE(starts(""));
  CHECK_FALSE(starts("words\n" + one));
  CHECK_FALSE(starts(one + "words"));
  CHECK_FALSE(starts(one + one.substr(0, one.size() / 2)));
  std::string many;
  for (int i = 0; i < 17; ++i)
    many += one;
  CHECK_FALSE(starts(many));
}
