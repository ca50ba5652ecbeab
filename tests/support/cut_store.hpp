#pragma once

#include "tests/support/cutting_proxy.hpp"
#include "tests/support/postgres_store.hpp"
#include "tests/support/temporary_folder.hpp"

#include <memory>
#include <string>

namespace bc::events::testing {

/// A schema whose URL leads through a proxy.
struct cut_store {
  explicit cut_store(postgres_silence silence = {}) {
    auto opened = open_postgres_journal(through(), silence);
    REQUIRE(opened);
    store = std::move(opened).value();
  }

  [[nodiscard]] std::string through() const {
    auto url = schema.url();
    auto at = url.find("host=");
    auto end = url.find('&', at);
    return url.substr(0, at) + "host=" + folder.path().string() +
           url.substr(end);
  }
  journal* operator->() const { return store.get(); }

  temporary_folder folder{quick_parent()};
  migrated_schema schema;
  bc::testing::cutting_proxy proxy{
      folder.path().string(),
      bc::testing::ask(bc::testing::shared_postgres_url(),
                       "select split_part(current_setting("
                       "'unix_socket_directories'), ',', 1)")};
  std::unique_ptr<journal> store;
};

}  // namespace bc::events::testing
