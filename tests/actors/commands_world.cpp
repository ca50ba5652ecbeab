#include "tests/actors/commands_world.hpp"

#include "pki/signature.hpp"

namespace bc::api_test {

namespace node = bc::events::node;

names ids_of(const std::vector<wire::command_body>& all) {
  names out;
  for (const auto& c : all)
    out.push_back(c.command_id);
  return out;
}

std::string inventory(int n) {
  return R"({"claims":)" + wire::encode(test::make_machine(n).claims) + "}";
}

commands_world::commands_world() {
  sessions->keys = test::test_keys();
}

node::joined commands_world::new_node(
    const std::function<void(node::joined&)>& change) {
  auto j = random.node_joined();
  j.tenant = acme;
  j.site = site;
  j.pool = pool;
  j.at = time.now();
  j.acceptance = false;
  j.hardware_key.clear();
  j.hardware_key_trusted = false;
  j.cert.generation = 1;
  j.cert.der = random.blob(64);
  j.cert.allowed_kinds.clear();
  j.cert.not_before = time.now() - seconds{300};
  j.cert.not_after = time.now() + seconds{86'100};
  if (change)
    change(j);
  REQUIRE(decide_on(j, node::join{j}));
  return j;
}

fields commands_world::naming(const node::joined& j) const {
  return {{"tenantId", json_string(acme.str())},
          {"nodeId", json_string(j.id.str())}};
}

reply commands_world::enqueue(const node::joined& j, const std::string& kind,
                              const fields& more) {
  auto input = naming(j);
  input["kind"] = json_string(kind);
  input["idempotencyKey"] = json_string("key-" + std::to_string(++keys_used));
  for (const auto& [name, raw] : more)
    input[name] = raw;
  return call(acme_key, "commands.enqueue", input);
}

reply commands_world::get(const node::joined& j, const std::string& command) {
  return call(acme_key, "commands.get",
              with(naming(j), "commandId", json_string(command)));
}

std::string commands_world::certificate(const node::joined& j) const {
  return std::string{as_text(j.cert.der)};
}

namespace {

template <class Run>
actors::daemon_reply answer_of(Run run) {
  int answers = 0;
  actors::daemon_reply out;
  run([&](actors::daemon_reply reply) {
    ++answers;
    out = std::move(reply);
  });
  REQUIRE(answers == 1);
  return out;
}

}  // namespace

actors::daemon_reply commands_world::fetch_as(const std::string& node,
                                              const std::string& certificate) {
  return answer_of([&](auto done) {
    actors::run_fetch(
        sessions, streams,
        {wire::encode(wire::fetch_commands{"sess_1", node}), "req-1",
         certificate, actors::daemon_request::fetch_commands},
        std::move(done));
  });
}

actors::daemon_reply commands_world::fetch(const node::joined& j) {
  return fetch_as(j.id.str(), certificate(j));
}

std::vector<wire::command_body> commands_world::fetched(const node::joined& j) {
  auto reply = fetch(j);
  INFO(reply.body);
  REQUIRE(reply.status == 200);
  auto all = wire::decode_fetched_commands(reply.body);
  REQUIRE(all);
  std::vector<wire::command_body> out;
  for (const auto& one : all.value().commands) {
    CHECK(pki::verify(sessions->keys->command_signing.pub(),
                      pki::purpose::command, {as_bytes(one.body)},
                      one.signature));
    auto body = wire::decode_command_body(one.body);
    REQUIRE(body);
    CHECK(body.value().node_id == j.id.str());
    out.push_back(std::move(body).value());
  }
  return out;
}

int commands_world::result_as(const std::string& node,
                              const std::string& certificate,
                              const wire::command_result& what) {
  return answer_of([&](auto done) {
           actors::run_result(
               sessions, streams,
               {wire::encode(wire::relayed_result{"sess_1", node, what}),
                "req-1", certificate, actors::daemon_request::command_result},
               std::move(done));
         })
      .status;
}

int commands_world::result(const node::joined& j, const std::string& command,
                           bool succeeded, const std::string& output) {
  return result_as(j.id.str(), certificate(j), {command, succeeded, output});
}

}  // namespace bc::api_test
