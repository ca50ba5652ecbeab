#include "ops/serve/expiry.hpp"

#include "ops/serve/repeater.hpp"
#include "pki/certificate.hpp"
#include "pki/expiry.hpp"

#include <spdlog/spdlog.h>

#include <mutex>

namespace bc::serve {

namespace {

using std::chrono::days;

constexpr days interval{1};
// Server certificates last 90 days, authorities ten years.
constexpr days early_for_server{14};
constexpr days early_for_ca{90};

}  // namespace

result<dated_certificate> dated(std::string name, const std::string& pem) {
  auto end = pki::not_after_of(pem);
  if (!end)
    return fail(errc::invalid_config, name + ": " + end.error().message);
  return dated_certificate{std::move(name), end.value(), early_for_server};
}

void add_dated(std::vector<dated_certificate>& to, std::string name,
               const std::string& pem) {
  auto one = dated(std::move(name), pem);
  if (one)
    to.push_back(std::move(one).value());
  else
    spdlog::warn("certificate {}; when it ends is not watched",
                 one.error().message);
}

result<std::vector<dated_certificate>> dated(const pki::key_bundle& keys) {
  std::vector<dated_certificate> out;
  for (const auto& [name, who] :
       {std::pair{"node_ca", &keys.node_ca},
        std::pair{"serving_ca", &keys.serving_ca},
        std::pair{"internal_ca", &keys.internal_ca},
        std::pair{"join_signing", &keys.join_signing}}) {
    BC_TRY(one, dated(name, pki::certificate_pem(who->certificate)));
    one.early = early_for_ca;
    out.push_back(std::move(one));
  }
  return out;
}

std::vector<std::string> expiry_warnings(std::span<const dated_certificate> all,
                                         time_point now) {
  std::vector<std::string> out;
  for (const auto& c : all) {
    auto at = to_rfc3339(c.not_after);
    if (c.not_after <= now)
      out.push_back("certificate " + c.name + " ended at " + at +
                    ": replace it");
    else if (c.not_after - now < c.early)
      out.push_back("certificate " + c.name + " ends at " + at +
                    ": replace it before then");
  }
  return out;
}

std::string expiry_metrics(std::span<const dated_certificate> all) {
  if (all.empty())
    return {};
  const std::string name = "better_compute_certificate_not_after_seconds";
  std::string out = "# HELP " + name +
                    " When a certificate ends, in Unix time\n# TYPE " + name +
                    " gauge\n";
  for (const auto& c : all)
    out += name + "{certificate=\"" + c.name + "\"} " +
           std::to_string(to_millis(c.not_after) / 1000) + "\n";
  return out;
}

struct expiry_watch::state {
  std::vector<dated_certificate> all;
  std::mutex mutex;

  void warn() {
    std::lock_guard lock{mutex};
    for (const auto& line : expiry_warnings(all, system_clock{}.now()))
      spdlog::warn("{}", line);
  }

  repeater again;  // last: it uses the others
};

expiry_watch::expiry_watch(std::vector<dated_certificate> all)
    : state_(std::make_unique<state>()) {
  state_->all = std::move(all);
  state_->warn();
  state_->again.start(interval, [s = state_.get()] { s->warn(); });
}

expiry_watch::~expiry_watch() = default;

void expiry_watch::renewed(std::string_view name, const std::string& pem) {
  auto next = dated(std::string{name}, pem);
  std::lock_guard lock{state_->mutex};
  for (auto& one : state_->all)
    if (one.name == name && next)
      one.not_after = next.value().not_after;
}

std::string expiry_watch::metrics() const {
  std::lock_guard lock{state_->mutex};
  return expiry_metrics(state_->all);
}

}  // namespace bc::serve
