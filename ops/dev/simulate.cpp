#include "ops/dev/simulate.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "daemon/hardware.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/join.hpp"
#include "daemon/tpm_join.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/server.hpp"
#include "ops/dev/simulated_site.hpp"
#include "ops/dev/simulated_tpm.hpp"
#include "pki/digest.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>
#include <vector>

namespace bc::dev {

namespace {

namespace fs = std::filesystem;

using hardware_seed = std::array<std::uint8_t, 32>;

// Two cores serve eight machines at a time well; more only wait for each other.
constexpr int at_once = 8;
constexpr milliseconds slice{50};
// How long a machine that waits for its approval waits at most.
constexpr milliseconds soon{500};

class made_up_hardware final : public daemon::hardware_source {
 public:
  made_up_hardware(std::string name, const hardware_seed& seed)
      : name_(std::move(name)), seed_(seed) {}

  result<pki::hardware_claims> read() override { return claims(); }

  [[nodiscard]] pki::hardware_claims claims() const {
    auto hex = to_hex(seed_);
    pki::hardware_claims c;
    c.product_uuid = hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-4" +
                     hex.substr(12, 3) + "-a" + hex.substr(15, 3) + "-" +
                     hex.substr(18, 12);
    c.product_serial = "SIM-" + hex.substr(30, 10);
    // 3c:ec:ef is a maker's prefix: globally administered, unicast.
    c.macs = {"3c:ec:ef:" + hex.substr(40, 2) + ":" + hex.substr(42, 2) + ":" +
              hex.substr(44, 2)};
    c.hostname = name_;
    return c;
  }

 private:
  std::string name_;
  hardware_seed seed_;
};

// The machine keeps its hardware over restarts of the simulation.
result<hardware_seed> seed_of(const std::string& file) {
  if (!fs::exists(file)) {
    BC_TRYV(
        cli::write_new_secret_file(file, to_hex(pki::random_bytes(32)) + "\n"));
  }
  BC_TRY(text, cli::read_secret_file(file));
  BC_TRY(raw, from_hex(text.expose_text()));
  if (raw.size() != 32)
    return fail(errc::invalid_config, file + " is damaged; remove it");
  hardware_seed seed;
  std::copy(raw.begin(), raw.end(), seed.begin());
  return seed;
}

bool expired_identity(const std::string& folder, time_point now) {
  auto store = daemon::identity_store::open(folder);
  if (!store)
    return false;
  auto identity = store.value().load();
  return identity && identity.value() && identity.value()->not_after <= now;
}

// `method` of the API, with `where` ("poolId" or "siteId") beside the rest.
result<secret_bytes> mint_token(const simulation& s, std::string_view group,
                                std::string_view where, const std::string& of,
                                const std::string& name) {
  json::writer body;
  body.begin_object()
      .field("tenantId", s.caller.tenant)
      .field(where, of)
      .field("ttlSeconds", 600)
      .field("idempotencyKey", name + "-" + to_hex(pki::random_bytes(8)))
      .end_object();
  auto caller = s.caller;
  auto record = cli::call(caller, group, "create", body.str());
  if (!record)
    return fail(errc::unavailable, "no join token for " + name);
  BC_TRY(text, json::reader{*record}.text("token"));
  secret_bytes token{std::string_view{text}};
  wipe(text.data(), text.size());
  return token;
}

// The token stays with the machine until it has joined: only the same token and
// request get a stored answer back, when the first answer was lost.
result<secret_bytes> token_of(const simulation& s, const std::string& name,
                              const std::string& file) {
  if (fs::exists(file))
    return cli::read_secret_file(file);
  BC_TRY(token, mint_token(s, "joinTokens", "poolId", s.pool, name));
  BC_TRYV(cli::write_new_secret_file(file, token.expose_text()));
  return std::move(token);
}

void make_private(const std::string& folder) {
  std::error_code ignored;
  fs::create_directories(folder, ignored);
  ::chmod(folder.c_str(), 0700);
}

// What the machine was installed with on its first day: its pins stay, however
// the deployment's keys rotate. The rest is today's.
result<void> keep_pins(daemon::config& machine, const std::string& file) {
  if (!fs::exists(file))
    return cli::write_file(file, machine.serving_ca_spki_pin + "\n" +
                                     machine.join_signing_key_pin + "\n");
  std::ifstream in{file};
  if (!std::getline(in, machine.serving_ca_spki_pin) ||
      !std::getline(in, machine.join_signing_key_pin))
    return fail(errc::invalid_config, file + " is damaged; remove it");
  return ok();
}

// What an operator does who looks at the machines that wait. Another thread may
// have approved one already.
void approve_waiting(const simulation& s) {
  auto caller = s.caller;
  json::writer body;
  body.begin_object()
      .field("tenantId", s.caller.tenant)
      .field("poolId", s.pool)
      .end_object();
  auto input = json::parse_object(body.str());
  auto waiting =
      input ? cli::call_pages(caller, "joinRequests", "list", input.value(), {})
            : std::nullopt;
  if (!waiting || !waiting->HasMember("items"))
    return;
  for (const auto& item : (*waiting)["items"].GetArray()) {
    json::reader request{item};
    auto id = request.text("id");
    auto csr = request.text("csrSha256");
    auto claims = request.object("claims");
    auto host = claims ? claims.value().optional_text("hostname")
                       : result<std::optional<std::string>>{std::nullopt};
    const bool ours = host && host.value() && host.value()->starts_with("sim-");
    if (!id || !csr || !ours)
      continue;
    json::writer approval;
    approval.begin_object()
        .field("tenantId", s.caller.tenant)
        .field("poolId", s.pool)
        .field("requestId", id.value())
        .field("csrSha256", csr.value())
        .field("reason", "of a simulation")
        .end_object();
    cli::call_failure unused;
    (void)cli::try_call(caller, "joinRequests", "approve", approval.str(),
                        unused);
  }
}

/// One machine: its folder, its hardware, and how it joins.
class simulated_machine {
 public:
  simulated_machine(const simulation& s, simulated_site* site, int number)
      : s_(s),
        site_(site),
        name_("sim-" + std::to_string(number)),
        folder_(s.folder + "/" + name_),
        attestor_(s.attestors.at(static_cast<std::size_t>(number - 1) %
                                 s.attestors.size())) {}

  /// True when it is a node now.
  bool join() {
    std::error_code ignored;
    // A certificate that ran out while nothing was running: another machine
    // takes the place, as a machine that is known joins only once.
    if (expired_identity(folder_, bc::system_clock{}.now()))
      fs::remove_all(folder_, ignored);
    make_private(folder_);
    auto seed = seed_of(folder_ + "/hardware");
    if (!seed)
      return say(seed.error().message), false;
    made_up_hardware hardware{name_, seed.value()};
    auto machine = s_.machine;
    machine.data_dir = folder_;
    if (auto kept = keep_pins(machine, folder_ + "/pins"); !kept)
      return say(kept.error().message), false;
    if (attestor_ == sim_attestor::tpm) {
      keys_.tpm = std::make_shared<simulated_tpm>(seed.value());
      keys_.keys = {keys_.tpm, true};
    }
    auto outcome = daemon::run_join(
        machine, hardware,
        [this] { return token_of(s_, name_, folder_ + "/token"); },
        options(machine, hardware.claims()));
    const bool joined = outcome.exit_code == daemon::join_exit::joined;
    // Nobody will mend a refused machine that is made up: another takes its
    // place at the next start.
    if (outcome.exit_code == daemon::join_exit::refused)
      fs::remove_all(folder_, ignored);
    if (joined)
      fs::remove(folder_ + "/token", ignored);
    // One line for each machine; a machine alone prints several.
    std::replace(outcome.message.begin(), outcome.message.end(), '\n', ' ');
    say(outcome.message);
    if (joined && s_.joined)
      s_.joined(
          name_, machine,
          [claims = hardware.claims()]() -> result<pki::hardware_claims> {
            return claims;
          },
          keys_);
    return joined;
  }

 private:
  void say(const std::string& line) const { s_.say(name_ + ": " + line); }

  [[nodiscard]] daemon::join_options options(
      const daemon::config& machine, const pki::hardware_claims& claims) {
    daemon::join_options out;
    out.keys = keys_.keys;
    out.wait = [this](milliseconds time) { wait(time); };
    if (attestor_ == sim_attestor::join_token)
      return out;
    out.without_token = true;
    out.until_decided = true;
    out.say = [this](const std::string& line) { say(line); };
    if (attestor_ == sim_attestor::tpm) {
      out.evidence =
          daemon::tpm_join_evidence(machine, {keys_.tpm, {}, {}, out.say});
    } else {
      out.role = pki::certificate_role::ramdisk;
      out.evidence = site_->evidence_for(claims.macs.front());
    }
    // Whoever waits for a person ends by this alone.
    out.evidence->fill =
        [this, fill = std::move(out.evidence->fill)](
            wire::join_request& body,
            std::optional<std::string> sealed) -> result<void> {
      if (*s_.stopping)
        return fail(errc::invalid_state, "stopped");
      return fill(body, std::move(sealed));
    };
    return out;
  }

  // In slices, so that a stop need not wait for a back-off to end. Whoever
  // waits long waits for a person.
  void wait(milliseconds time) const {
    if (attestor_ != sim_attestor::join_token) {
      approve_waiting(s_);
      time = std::min(time, soon);
    }
    for (; time > milliseconds{0} && !*s_.stopping; time -= slice)
      std::this_thread::sleep_for(slice);
  }

  const simulation& s_;
  simulated_site* const site_;
  const std::string name_;
  const std::string folder_;
  const sim_attestor attestor_;
  daemon::key_places keys_;
};

// A machine's trouble, a full disk say, must not end the server.
bool join_or_say(const simulation& s, simulated_site* site, int number) {
  try {
    return simulated_machine{s, site, number}.join();
  } catch (const std::exception& e) {
    s.say("sim-" + std::to_string(number) + ": " + e.what());
    return false;
  }
}

}  // namespace

std::vector<sim_attestor> parse_sim_attestors(std::string_view text) {
  using enum sim_attestor;
  if (text == "join-token")
    return {join_token};
  if (text == "tpm")
    return {tpm};
  if (text == "discovery")
    return {discovery};
  if (text == "mixed")
    return {join_token, tpm, discovery};
  return {};
}

result<std::unique_ptr<simulated_site>> start_site(const simulation& s) {
  const std::string name = "sim-agent";
  const auto folder = s.folder + "/" + name;
  std::error_code ignored;
  if (expired_identity(folder, bc::system_clock{}.now()))
    fs::remove_all(folder, ignored);
  make_private(folder);
  BC_TRY(seed, seed_of(folder + "/hardware"));
  simulated_site_options o;
  o.machine = s.machine;
  o.machine.data_dir = folder;
  o.hardware = std::make_unique<made_up_hardware>(name, seed);
  o.token = [s, name] {
    return mint_token(s, "siteTokens", "siteId", s.site, name);
  };
  o.say = [say = s.say, name](const std::string& line) {
    say(name + ": " + line);
  };
  return simulated_site::start(std::move(o));
}

int run_simulation(const simulation& s, simulated_site* site) {
  std::vector<std::thread> threads;
  std::atomic<int> next{1};
  std::atomic<int> joined{0};
  auto threads_wanted = std::min(s.machines, at_once);
  for (int i = 0; i < threads_wanted; ++i)
    threads.emplace_back([&] {
      for (int n = next++; n <= s.machines && !*s.stopping; n = next++)
        if (join_or_say(s, site, n))
          ++joined;
    });
  for (auto& t : threads)
    t.join();
  return s.machines - joined;
}

}  // namespace bc::dev
