#include "daemon/site_doctor.hpp"

#include "daemon/printable.hpp"
#include "daemon/site_leases.hpp"

#include <filesystem>

namespace bc::daemon {

namespace {

finding lease_check(const site_patient& p) {
  constexpr auto* check = "boot-lease";
  const bool ours = p.status && p.status->node_id == p.node_id;
  if (!p.running || !ours)
    return {check, verdict::warning,
            "bcd site does not run here: this agent boots and vouches for "
            "nobody",
            "systemctl disable --now bcd; systemctl enable --now bcd-site"};
  const auto& lease = p.status->lease;
  if (!lease.trouble.empty())
    return {check, lease.held ? verdict::warning : verdict::failed,
            "the last request failed: " + lease.trouble,
            "see the check of the gateway; it is tried again by itself"};
  const auto epoch = ", epoch " + std::to_string(lease.epoch) + ", until " +
                     to_rfc3339(lease.expires_at);
  const bool over = lease.expires_at <= p.server_time;
  if (over || lease.holder.empty())
    return {check, verdict::warning,
            "nobody is known to hold it" +
                (over && !lease.holder.empty()
                     ? "; " + printable(lease.holder) + " did" + epoch
                     : std::string{}),
            "look again in a minute; if it stays so, see what bcd site says: "
            "journalctl -u bcd-site"};
  return {check, verdict::ok,
          (lease.held ? "this agent holds it"
                      : printable(lease.holder) + " holds it") +
              epoch};
}

finding dhcp_check(const site_patient& p) {
  constexpr auto* check = "dhcp-leases";
  const auto& file = p.machine.site_agent.leases_file;
  auto read = lease_file{file}.mac_at("", p.machine_time);
  if (read)
    return {check, verdict::ok, file.string() + " can be read"};
  const bool held = p.status && p.status->lease.held;
  return {check, held ? verdict::failed : verdict::warning,
          read.error().message,
          "does dnsmasq run here, with dhcp-leasefile as [site_agent] "
          "leases_file says?"};
}

}  // namespace

std::vector<finding> examine_site(const site_patient& p) {
  return {lease_check(p), dhcp_check(p)};
}

}  // namespace bc::daemon
