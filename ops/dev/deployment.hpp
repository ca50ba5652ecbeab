#pragma once

#include "base/clock.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "ops/store/store.hpp"
#include "pki/bundle.hpp"

#include <memory>
#include <string>

namespace bc::dev {

/// The files of one embedded deployment, all under one folder that its owner
/// alone can enter.
struct paths {
  std::string data;

  [[nodiscard]] std::string journal() const { return data + "/journal.db"; }
  [[nodiscard]] std::string secret() const { return data + "/secret"; }
  [[nodiscard]] std::string credential() const {
    return data + "/root-credential";
  }
  /// The signed heads of the journal, a line each.
  [[nodiscard]] std::string checkpoints() const {
    return data + "/checkpoints.log";
  }
  [[nodiscard]] std::string daemon() const { return data + "/bcd"; }
  [[nodiscard]] std::string machines() const { return data + "/machines"; }
};

/// An open store with what `dev` needs to know of it.
struct deployment {
  store::opened store;
  std::shared_ptr<const pki::key_bundle> keys;
  tenant_id root_tenant;
  site_id site;
  pool_id pool;
  bool first_start = false;
  bool new_credential = false;  // in place of one whose file was gone
};

/// Opens the deployment, or makes it in one append: the key bundle, the root
/// tenant, a site, a pool with `agent: 'bcd'` and a root credential. The
/// bundle's secret and the credential go to 0600 files first. A later start
/// whose credential file is gone makes another root credential.
[[nodiscard]] result<deployment> open_deployment(const paths& files,
                                                 const clock& time);

}  // namespace bc::dev
