#pragma once

#include "base/clock.hpp"
#include "base/secret_bytes.hpp"
#include "events/join_token.hpp"

#include <string>

namespace bc::actors {

/// A new secret of 256 random bits as base64url. The token gets its hash, and
/// its times.
[[nodiscard]] secret_bytes give_secret(events::join_token::created& token,
                                       time_point now, seconds lifetime);

/// bcjt_<id>.<secret>.
[[nodiscard]] std::string bearer_text(const join_token_id& id,
                                      const secret_bytes& secret);

}  // namespace bc::actors
