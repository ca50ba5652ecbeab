#pragma once

#include "actors/actor_ledger.hpp"

#include <functional>
#include <memory>

namespace bc::actors {

/// Warns of certificates that are nearly over and were not renewed
/// (`security.certificate-expiring`), the most urgent first. Whom to look at
/// comes from the read models; each node's own stream decides, at its version,
/// so that whatever processes do this at a time, a certificate is told of once.
/// `done` runs once; what is left is for the next time.
void warn_of_certificates(std::shared_ptr<ledger> streams,
                          std::function<void()> done);

struct certificate_watch_options {
  ledger_actors others;
  milliseconds every{15'000};
};

/// The actor that does so again and again, for as long as it lives.
[[nodiscard]] certificate_watch_actor spawn_certificate_watch(
    caf::actor_system& system, certificate_watch_options options);

}  // namespace bc::actors
