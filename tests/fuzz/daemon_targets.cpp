#include "daemon/command_log.hpp"
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

// Whatever stands in journal.db, what is read of it is written whole again, and
// no command that was begun is forgotten by that.
void command_journal(byte_view input) {
  auto log = daemon::command_log::read(text_of(input));
  auto again = daemon::command_log::read(log.text());
  BC_MUST(!again.is_torn());
  BC_MUST(again.text() == log.text());
  BC_MUST(again.begun() == log.begun());
  BC_MUST(again.lines_were_lost() == log.lines_were_lost());
  for (const auto& result : log.waiting())
    BC_MUST(again.knows(result.command_id));
}

}  // namespace bc::fuzz
