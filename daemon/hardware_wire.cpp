#include "base/wire.hpp"
#include "daemon/hardware.hpp"

namespace bc::daemon {

wire::claims to_wire(const pki::hardware_claims& c) {
  return {c.product_uuid, c.product_serial, c.board_serial, c.chassis_serial,
          c.macs,         c.gpu_uuids,      c.hostname};
}

pki::hardware_claims from_wire(const wire::claims& c) {
  return {c.product_uuid, c.product_serial, c.board_serial, c.chassis_serial,
          c.macs,         c.gpu_uuids,      c.hostname};
}

}  // namespace bc::daemon
