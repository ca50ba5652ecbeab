#pragma once

#include "events/boot_lease.hpp"
#include "events/command.hpp"
#include "events/credential.hpp"
#include "events/directory.hpp"
#include "events/join_request.hpp"
#include "events/join_token.hpp"
#include "events/journal_stream.hpp"
#include "events/node.hpp"
#include "events/pki_bundle.hpp"
#include "events/refusal.hpp"

#include <string>

/// States as JSON objects for people. Secret hashes, certificates, raw claims
/// and stored answers come only with `with_internal`.
namespace bc::events {

namespace tenant {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace site {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace pool {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace credential {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace join_token {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace join_request {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace node {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace command {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace boot_lease {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace refusal {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace journal_log {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}
namespace pki_bundle {
[[nodiscard]] std::string view(const state& s, bool with_internal);
}

}  // namespace bc::events
