#pragma once

#include "base/bytes.hpp"

#include <cstdio>
#include <cstdlib>

/// One fuzz target for each parser of bytes from outside. A target must hold
/// for any input: it aborts when a rule is broken, and returns otherwise.
/// libFuzzer drives them in the `fuzz` preset; ordinary builds replay the
/// corpus (replay.cpp).
#define BC_FUZZ_TARGETS(X) \
  X(json)                  \
  X(encoding)              \
  X(join_request)          \
  X(join_answer)           \
  X(renew_request)         \
  X(join_challenge)        \
  X(boot_lease)            \
  X(session_frame)         \
  X(session_message)       \
  X(csr)                   \
  X(certificate)           \
  X(der)                   \
  X(jwe)                   \
  X(jwk)                   \
  X(vouch)                 \
  X(pem)                   \
  X(release_manifest)      \
  X(hardware)              \
  X(names)                 \
  X(join_document)         \
  X(command_journal)       \
  X(command_output)        \
  X(dhcp_leases)           \
  X(vouch_exchange)        \
  X(helper_frame)          \
  X(token)                 \
  X(tpm_public)            \
  X(tpm_attest)            \
  X(tpm_signature)         \
  X(ek_certificate)        \
  X(stored_event)          \
  X(export_file)           \
  X(checkpoint_line)       \
  X(event_query)           \
  X(relay)                 \
  X(request_head)          \
  X(event_page)            \
  X(event_stream)          \
  X(kafka_record)          \
  X(identity)              \
  X(site_agents)           \
  X(tpm_key_file)

namespace bc::fuzz {

#define BC_DECLARE(name) void name(byte_view input);
BC_FUZZ_TARGETS(BC_DECLARE)
#undef BC_DECLARE

/// The rule, as text, when it does not hold.
#define BC_MUST(rule)                                                         \
  do {                                                                        \
    if (!(rule)) {                                                            \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #rule); \
      std::abort();                                                           \
    }                                                                         \
  } while (false)

inline std::string_view text_of(byte_view input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

}  // namespace bc::fuzz
