// spec: ATTESTATION sections 2 and 3; joining#renewal; CASES 104, 108, 124.
// What becomes of a machine that was off: how long x where its key is x its
// clock x what happened meanwhile, and the rung of the ladder that it ends on.
// On virtual clocks.
#include "daemon/rejoin.hpp"
#include "tests/daemon/fake_attestor.hpp"
#include "tests/daemon/fake_rejoins.hpp"
#include "tests/daemon/tpm_world.hpp"

#include <catch2/catch.hpp>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;
using std::chrono::hours;
using std::chrono::minutes;

namespace {

enum class key_place { file, tpm };
// "renews", "by the certificate", "by the TPM", "refused", "a person", "the
// TPM"
using rung = std::string;
enum class meanwhile { nothing, revoked, tpm_away, tpm_cleared };

const char* text_of(meanwhile what) {
  switch (what) {
    case meanwhile::nothing:
      return "nothing";
    case meanwhile::revoked:
      return "revoked";
    case meanwhile::tpm_away:
      return "the TPM is away";
    case meanwhile::tpm_cleared:
      return "the TPM was cleared";
  }
  return "";
}

// The control plane judges as the real one: by the clock, the statements of the
// certificate, what was revoked, and for tpm by pki/tpm/judge.
struct world : tpm_world {
  bool of_tpm;
  config configured;
  std::optional<identity_store> store;
  fake_rejoins back{time, server};
  fake_attestor attestor{server.gateway};
  std::vector<std::string> said;
  std::string came_back;  // by which attestor
  int sent = 0;
  std::optional<way_back> ways;
  std::optional<renewal_loop> loop;

  world(key_place where, milliseconds away, milliseconds clock_off,
        meanwhile what)
      : of_tpm(where == key_place::tpm),
        configured(server.gateway.config(folder)) {
    if (!of_tpm) {
      me = server.identity();
      keys = machine_keys{};
    }
    store.emplace(identity_store::open(folder / "data", tpm).value());
    REQUIRE(store->keep(me.key, me.who));
    time.pass(away);
    time.wall_off = clock_off;
    server.gateway.server =
        pki::issue_server_certificate(server.gateway.keys.serving_ca,
                                      {"gw.example.com"}, time.server)
            .value();
    server.revoked = what == meanwhile::revoked;
    back.allowed = what != meanwhile::revoked;
    revoked_ = what == meanwhile::revoked;
    tpm->answers = what != meanwhile::tpm_away;
    tpm->seed = what == meanwhile::tpm_cleared ? 1 : 0;
    attestor.now = [this] { return time.server; };
    start();
  }

  rung run() {
    for (auto until = time.server + minutes{30}; time.server < until;) {
      auto rest = loop->step();
      if (loop->status().state == renewal_state::expired)
        break;
      time.pass(rest);
    }
    const auto& status = loop->status();
    if (status.state == renewal_state::fine)
      return came_back.empty()                 ? "renews"
             : came_back == "x509pop"          ? "by the certificate"
             : came_back == wire::tpm_attestor ? "by the TPM"
                                               : came_back;
    if (status.state == renewal_state::expired)
      return "a person";
    if (status.why.find(wrong_tpm_text) != std::string::npos)
      return "the TPM";
    return "refused";
  }

 private:
  void start() {
    rejoin_tools tools;
    tools.post = [this](std::string_view path, std::string_view body) {
      ++sent;
      return post(path, body);
    };
    tools.hardware = [] { return fake_machine{}.read(); };
    tools.keys = keys;
    if (of_tpm)
      tools.tpm = tpm;
    ways.emplace(configured, *store, tools);
    renewal_tools r;
    r.clocks = [this] { return time.clocks(); };
    r.random = [] { return 500U; };
    r.send = [this](std::string_view body, const node_identity* as) {
      ++sent;
      return of_tpm ? take(body, as) : server.take(body, as);
    };
    r.say = [this](const std::string& line) { said.push_back(line); };
    r.keys = keys;
    r.rejoin = [this](const node_identity& as, time_point now) {
      return ways->attempt(as, now);
    };
    r.may_rejoin = [this](const node_identity& as, time_point at) {
      return ways->is_open(as, at);
    };
    loop.emplace(configured, *store, me.clone(), std::move(r));
  }

  exchange post(std::string_view path, std::string_view body) {
    if (path == "/v1/join-challenge") {
      auto asked = wire::decode_challenge_request(body).value();
      return asked.tpm ? attestor.post(path, body) : back.post(path, body);
    }
    auto asked = wire::decode_join_request(body).value();
    if (asked.tpm && revoked_)
      return back.refused(to_bytes(pki::sha256(asked.csr)));
    auto out = asked.tpm ? attestor.join(asked) : popped(path, body, asked);
    if (out.status == 200)
      came_back = asked.attestor;
    return out;
  }

  exchange popped(std::string_view path, std::string_view body,
                  const wire::join_request& asked) {
    const auto& e = *asked.x509pop;
    const auto leaf = pki::parse_certificate(e.chain.front()).value();
    const auto csr = to_bytes(pki::sha256(asked.csr));
    if (time.server > leaf.not_after + rejoin_window ||
        judged(e.chain.front(), e.attestation, asked.csr))
      return back.refused(csr);
    return back.post(path, body);
  }

  bool revoked_ = false;
};

}  // namespace

TEST_CASE("recovery: how long off x key x clock x meanwhile (cases 108, 124)") {
  const auto away = GENERATE(hours{1}, hours{23}, hours{24 * 6}, hours{24 * 8});
  const auto where = GENERATE(key_place::file, key_place::tpm);
  const auto clock = GENERATE(hours{-48}, hours{0}, hours{48});
  const auto what = GENERATE(meanwhile::nothing, meanwhile::revoked,
                             meanwhile::tpm_away, meanwhile::tpm_cleared);
  const bool of_tpm = where == key_place::tpm;
  const bool tpm_matters =
      of_tpm && (what == meanwhile::tpm_away || what == meanwhile::tpm_cleared);
  const bool revoked = what == meanwhile::revoked;
  world w{where, milliseconds{away}, milliseconds{clock}, what};
  CAPTURE(away.count(), of_tpm, clock.count(), text_of(what));
  const auto got = w.run();
  INFO(w.loop->status().why);

  // A clock that is ahead tries early, one that stands before the certificate
  // was made tries at once: neither changes the rung.
  const bool due = away >= hours{23} || clock != hours{0};
  rung right;
  if (away < hours{24})
    right = !due          ? "renews"  // not yet due: nothing was asked
            : tpm_matters ? "the TPM"
            : revoked     ? "refused"
                          : "renews";
  else if (tpm_matters)
    right = "the TPM";
  else if (away < hours{24 * 8})
    right = revoked ? "refused" : "by the certificate";
  else if (of_tpm)
    right = revoked ? "refused" : "by the TPM";
  else
    right = "a person";
  CHECK(got == right);
  // A TPM that does not do its part keeps everything on the machine.
  if (right == "the TPM")
    CHECK(w.sent == 0);
  if (right == "by the TPM")
    CHECK_THAT(w.said.back(), Catch::StartsWith("joined again by the TPM; "));
  // What a person reads names the way back.
  if (right == "a person" || right == "the TPM")
    CHECK_THAT(w.said.back(), Catch::Contains("bcd join --reset --yes"));
}
