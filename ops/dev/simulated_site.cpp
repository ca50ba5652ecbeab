#include "ops/dev/simulated_site.hpp"

#include "daemon/discovery_join.hpp"
#include "daemon/node.hpp"
#include "daemon/session.hpp"
#include "daemon/site.hpp"
#include "ops/cli/files.hpp"
#include "ops/version.hpp"

#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <utility>

namespace bc::dev {

namespace {

constexpr const char* address = "127.0.0.1";
constexpr seconds lent_for{600};
// An agent answers one address once a second (daemon/site_rate.hpp).
constexpr milliseconds pause{1'050};
constexpr seconds patience{10};

}  // namespace

struct simulated_site::parts {
  explicit parts(simulated_site_options o)
      : options(std::move(o)), leases(options.machine.data_dir / "leases") {}

  void run(const std::stop_token& stop) {
    daemon::node_options node;
    node.say = options.say;
    node.notify = [](const std::string&) {};
    node.version = std::string{version};
    node.session = [](const daemon::config& to, const daemon::node_identity& me,
                      const daemon::session_hooks& hooks,
                      std::stop_token until) {
      return daemon::run_session(to, me, std::string{version}, hooks,
                                 std::move(until));
    };
    node.hardware = [this] { return options.hardware->read(); };
    node.role = "site";
    auto tools = daemon::real_site_tools(options.say);
    tools.listening = [this](std::uint16_t at) { port.set_value(at); };
    node.beside = [this, tools](const daemon::node_identity& me,
                                const daemon::node_side_tools& with) {
      return daemon::start_site_agent(options.machine, me, with, tools);
    };
    (void)daemon::run_node(options.machine, node, stop);
  }

  // As the site's DHCP server would write it.
  result<void> lend(const std::string& mac) const {
    const auto until = bc::system_clock{}.now() + lent_for;
    return cli::replace_secret_file(
        leases.string(), std::to_string(to_millis(until) / 1000) + " " + mac +
                             " " + address + " * *\n");
  }

  daemon::exchange ask(const std::string& mac,
                       const std::function<daemon::exchange()>& post) {
    std::lock_guard lock{one_at_a_time};
    std::this_thread::sleep_until(next);
    if (auto lent = lend(mac); !lent)
      options.say(lent.error().message);
    next = std::chrono::steady_clock::now() + pause;
    return post();
  }

  simulated_site_options options;
  const std::filesystem::path leases;
  std::promise<std::uint16_t> port;
  daemon::endpoint agent{address, "0"};
  std::mutex one_at_a_time;
  std::chrono::steady_clock::time_point next;
  std::jthread thread;
};

result<std::unique_ptr<simulated_site>> simulated_site::start(
    simulated_site_options options) {
  auto p = std::make_unique<parts>(std::move(options));
  auto& machine = p->options.machine;
  machine.site_agent.listen = std::string{address} + ":0";
  machine.site_agent.leases_file = p->leases;
  daemon::join_options how;
  how.role = pki::certificate_role::site;
  auto outcome =
      daemon::run_join(machine, *p->options.hardware, p->options.token, how);
  if (outcome.exit_code != daemon::join_exit::joined)
    return fail(errc::unavailable, outcome.message);
  auto listening = p->port.get_future();
  p->thread = std::jthread{
      [all = p.get()](const std::stop_token& stop) { all->run(stop); }};
  if (listening.wait_for(patience) != std::future_status::ready)
    return fail(errc::unavailable, "the site agent does not listen");
  p->agent.port = std::to_string(listening.get());
  return std::unique_ptr<simulated_site>{new simulated_site{std::move(p)}};
}

simulated_site::simulated_site(std::unique_ptr<parts> p)
    : parts_(std::move(p)) {}

simulated_site::~simulated_site() = default;

daemon::join_evidence simulated_site::evidence_for(const std::string& mac) {
  auto real = daemon::real_discovery_tools({});
  daemon::discovery_tools tools;
  tools.mac = [mac](const daemon::endpoint&,
                    const pki::hardware_claims&) -> result<std::string> {
    return mac;
  };
  tools.post = [this, mac, post = std::move(real.post)](
                   const daemon::endpoint& agent, std::string_view path,
                   std::string_view body) {
    return parts_->ask(mac, [&] { return post(agent, path, body); });
  };
  return daemon::discovery_evidence({parts_->agent}, std::move(tools));
}

}  // namespace bc::dev
