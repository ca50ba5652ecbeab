#pragma once

#include "projections/queries.hpp"

#include <string>
#include <utility>
#include <vector>

namespace bc::test {

/// Read models of tenants and nodes alone, one row a page.
class sample_queries : public projections::queries {
 public:
  void add_tenant(std::string id) {
    projections::tenant_row row;
    row.id = std::move(id);
    tenants_.push_back(std::move(row));
  }
  void add_node(std::string tenant, std::string id, std::string status) {
    projections::node_row row;
    row.tenant = std::move(tenant);
    row.id = std::move(id);
    row.status = std::move(status);
    nodes_.push_back(std::move(row));
  }

  result<projections::page<projections::tenant_row>> list_tenants(
      std::string_view after, int) override {
    return page_of(tenants_, after, [](const auto&) { return true; });
  }
  result<projections::page<projections::node_row>> list_nodes(
      const projections::node_filter& which, std::string_view after,
      int) override {
    return page_of(nodes_, after, [&](const auto& row) {
      return row.tenant == which.tenant &&
             (which.status.empty() || row.status == which.status);
    });
  }
  result<projections::page<projections::site_row>> list_sites(std::string_view,
                                                              bool,
                                                              std::string_view,
                                                              int) override {
    return projections::page<projections::site_row>{};
  }
  result<projections::page<projections::pool_row>> list_pools(std::string_view,
                                                              bool,
                                                              std::string_view,
                                                              int) override {
    return projections::page<projections::pool_row>{};
  }
  result<projections::page<projections::join_token_row>> list_join_tokens(
      std::string_view, std::string_view, bool, time_point, std::string_view,
      int) override {
    return projections::page<projections::join_token_row>{};
  }
  result<projections::page<projections::command_row>> list_commands(
      std::string_view, std::string_view, std::string_view, int) override {
    return projections::page<projections::command_row>{};
  }
  result<std::optional<projections::command_row>> get_command(
      std::string_view, std::string_view, std::string_view) override {
    return std::optional<projections::command_row>{};
  }
  result<std::vector<std::string>> pending_commands(std::string_view,
                                                    time_point, int) override {
    return pending;
  }
  std::vector<std::string> pending;  // whatever the node
  result<projections::page<projections::join_request_row>> list_join_requests(
      const projections::request_filter&, std::string_view, int) override {
    return projections::page<projections::join_request_row>{};
  }
  result<std::vector<std::int64_t>> taken_places(std::string_view,
                                                 time_point) override {
    return std::vector<std::int64_t>{};
  }
  result<std::vector<std::string>> shared_macs(std::string_view,
                                               time_point) override {
    return std::vector<std::string>{};
  }
  result<std::optional<projections::node_row>> get_node(
      std::string_view, std::string_view) override {
    return std::optional<projections::node_row>{};
  }
  result<projections::certificates_of_node> list_certificates(std::string_view,
                                                              std::string_view,
                                                              time_point,
                                                              int) override {
    return projections::certificates_of_node{};
  }
  result<std::vector<projections::joined_request_row>> joined_requests(
      const projections::joined_request_row&, time_point, int) override {
    return joined_otherwise;
  }
  result<projections::page<projections::credential_row>> list_credentials(
      std::string_view, std::string_view, int) override {
    return projections::page<projections::credential_row>{};
  }
  result<projections::page<projections::audit_row>> list_audit(
      const projections::audit_filter&, std::string_view, int) override {
    return projections::page<projections::audit_row>{};
  }
  result<std::vector<projections::shared_hardware_row>> untold_shared_hardware(
      int) override {
    return shared;
  }
  result<std::vector<std::string>> nodes_to_warn(time_point, int) override {
    return to_warn;
  }
  result<std::optional<std::string>> next_gateway(std::string_view) override {
    return std::optional<std::string>{};
  }
  result<std::vector<std::string>> nodes_at(std::string_view, int) override {
    return std::vector<std::string>{};
  }
  result<projections::page<projections::node_row>> list_nodes_of_token(
      std::string_view, std::string_view, std::string_view, int) override {
    return projections::page<projections::node_row>{};
  }
  result<std::uint64_t> sessions_at(std::string_view) override { return 0; }
  result<std::uint64_t> nodes_ending(time_point, time_point,
                                     time_point) override {
    return 0;
  }
  result<std::uint64_t> commands_waiting(time_point) override { return 0; }
  result<std::optional<projections::revocation_row>> last_revocation()
      override {
    return std::optional<projections::revocation_row>{};
  }
  result<std::vector<projections::revoked_row>> revoked_certificates(
      time_point, std::uint64_t) override {
    return std::vector<projections::revoked_row>{};
  }
  result<std::uint64_t> position() override { return 0; }
  result<std::uint64_t> parked() override { return 0; }

  std::vector<projections::shared_hardware_row> shared;
  std::vector<projections::joined_request_row> joined_otherwise;
  std::vector<std::string> to_warn;

 private:
  // In id order, whatever the order they were added in.
  template <class Row, class Wanted>
  static projections::page<Row> page_of(const std::vector<Row>& rows,
                                        std::string_view after, Wanted wanted) {
    const Row* best = nullptr;
    bool more = false;
    for (const auto& row : rows) {
      if (!wanted(row) || row.id <= after)
        continue;
      more = more || best != nullptr;
      if (best == nullptr || row.id < best->id)
        best = &row;
    }
    projections::page<Row> out;
    if (best != nullptr)
      out.items.push_back(*best);
    if (more)
      out.next = best->id;
    return out;
  }

  std::vector<projections::tenant_row> tenants_;
  std::vector<projections::node_row> nodes_;
};

}  // namespace bc::test
