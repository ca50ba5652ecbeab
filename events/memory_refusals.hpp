#pragma once

#include "base/ids.hpp"
#include "events/refused_join.hpp"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace bc::events::detail {

/// The index of recent refusals in memory.
class memory_refusals {
 public:
  void put(const batch_id& id, std::span<const refused_join> refused);
  [[nodiscard]] std::vector<refused_join> of(std::string_view owner,
                                             std::string_view csr_sha256,
                                             std::size_t limit) const;

 private:
  struct row {
    refused_join refused;
    batch_id batch;  // the last that counted here
  };
  using group_key = std::pair<std::string, std::string>;  // owner, reason
  using group =
      std::map<std::pair<std::string, std::string>, row>;  // CSR, token

  static void drop_old(group& rows);

  std::map<group_key, group> groups_;
};

}  // namespace bc::events::detail
