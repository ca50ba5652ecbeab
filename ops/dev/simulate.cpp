#include "ops/dev/simulate.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "daemon/hardware.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/join.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/server.hpp"
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

result<secret_bytes> mint_token(simulation& s, const std::string& name) {
  json::writer body;
  body.begin_object()
      .field("tenantId", s.caller.tenant)
      .field("poolId", s.pool)
      .field("ttlSeconds", 600)
      .field("idempotencyKey", name + "-" + to_hex(pki::random_bytes(8)))
      .end_object();
  auto record = cli::call(s.caller, "joinTokens", "create", body.str());
  if (!record)
    return fail(errc::unavailable, "no join token for " + name);
  BC_TRY(text, json::reader{*record}.text("token"));
  secret_bytes token{std::string_view{text}};
  wipe(text.data(), text.size());
  return token;
}

// The token stays with the machine until it has joined: only the same token and
// request get a stored answer back, when the first answer was lost.
result<secret_bytes> token_of(simulation& s, const std::string& name,
                              const std::string& file) {
  if (fs::exists(file))
    return cli::read_secret_file(file);
  BC_TRY(token, mint_token(s, name));
  BC_TRYV(cli::write_new_secret_file(file, token.expose_text()));
  return std::move(token);
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

// True when the machine is a node now.
bool join_one(simulation s, int number) {
  auto name = "sim-" + std::to_string(number);
  auto folder = s.folder + "/" + name;
  std::error_code ignored;
  // A certificate that ran out while nothing was running: another machine
  // takes the place, as a machine that is known joins only once.
  if (expired_identity(folder, bc::system_clock{}.now()))
    fs::remove_all(folder, ignored);
  fs::create_directories(folder, ignored);
  ::chmod(folder.c_str(), 0700);
  auto seed = seed_of(folder + "/hardware");
  if (!seed) {
    s.say(name + ": " + seed.error().message);
    return false;
  }
  made_up_hardware hardware{name, seed.value()};
  auto machine = s.machine;
  machine.data_dir = folder;
  if (auto kept = keep_pins(machine, folder + "/pins"); !kept) {
    s.say(name + ": " + kept.error().message);
    return false;
  }
  daemon::join_options options;
  options.wait = [&s](milliseconds time) {
    // In slices, so that a stop need not wait for a back-off to end.
    for (; time > milliseconds{0} && !*s.stopping; time -= slice)
      std::this_thread::sleep_for(slice);
  };
  auto outcome = daemon::run_join(
      machine, hardware, [&] { return token_of(s, name, folder + "/token"); },
      options);
  // Nobody will mend a refused machine that is made up: another takes its place
  // at the next start.
  if (outcome.exit_code == daemon::join_exit::refused)
    fs::remove_all(folder, ignored);
  if (outcome.exit_code == daemon::join_exit::joined)
    fs::remove(folder + "/token", ignored);
  // One line for each machine; a machine alone prints several.
  std::replace(outcome.message.begin(), outcome.message.end(), '\n', ' ');
  s.say(name + ": " + outcome.message);
  if (outcome.exit_code == daemon::join_exit::joined && s.joined)
    s.joined(name, machine,
             [claims = hardware.claims()]() -> result<pki::hardware_claims> {
               return claims;
             });
  return outcome.exit_code == daemon::join_exit::joined;
}

// A machine's trouble, a full disk say, must not end the server.
bool join_or_say(const simulation& s, int number) {
  try {
    return join_one(s, number);
  } catch (const std::exception& e) {
    s.say("sim-" + std::to_string(number) + ": " + e.what());
    return false;
  }
}

}  // namespace

int run_simulation(simulation s) {
  std::vector<std::thread> threads;
  std::atomic<int> next{1};
  std::atomic<int> joined{0};
  auto threads_wanted = std::min(s.machines, at_once);
  for (int i = 0; i < threads_wanted; ++i)
    threads.emplace_back([&] {
      for (int n = next++; n <= s.machines && !*s.stopping; n = next++)
        if (join_or_say(s, n))
          ++joined;
    });
  for (auto& t : threads)
    t.join();
  return s.machines - joined;
}

}  // namespace bc::dev
