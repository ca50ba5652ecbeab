#pragma once

#include "actors/ledger.hpp"
#include "actors/ports.hpp"
#include "base/ids.hpp"
#include "pki/hardware_key.hpp"

#include <functional>
#include <memory>
#include <string>

namespace bc::events {
class incarnations;
}

namespace bc::actors {

class read_models;

struct api_environment {
  tenant_id root_tenant;
  std::string source;  // CloudEvents source
  /// Which incarnation each position is of.
  std::shared_ptr<const events::incarnations> incarnations;
  /// Null where the read models move with the journal: nothing waits for them.
  std::shared_ptr<read_models> models = nullptr;
  pki::shared_uuids shared_uuids = {};
};

/// One API call from the raw body to the answer (spec: DESIGN sections 9, 10):
/// authenticate, schema, idempotent replay, authorise, then the resource. No
/// CAF: effects go through the ledger. `done` runs once.
void run_api_call(std::shared_ptr<const api_environment> env,
                  std::shared_ptr<ledger> streams, api_call call,
                  std::function<void(api_reply)> done);

}  // namespace bc::actors
