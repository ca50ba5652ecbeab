#include "daemon/join_document.hpp"
#include "pki/jwe.hpp"
#include "tests/fuzz/targets.hpp"

namespace bc::fuzz {

// What a machine takes from the well-known document is what it says: the key
// has the text that is written to join-encryption.jwk, and the pins are pins.
void join_document(byte_view input) {
  auto read = daemon::parse_join_document(text_of(input));
  if (!read)
    return;
  auto key = pki::from_jwk(read.value().encryption_jwk);
  BC_MUST(key.has_value());
  BC_MUST(key.value() == read.value().encryption_key);
  BC_MUST(pki::is_pin(read.value().signing_pin));
}

}  // namespace bc::fuzz
