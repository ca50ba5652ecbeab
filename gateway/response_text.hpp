#pragma once

#include "gateway/http_server.hpp"

#include <string>
#include <string_view>

namespace bc::gateway {

/// The answer as it goes over the wire (RFC 9112): in one piece, so that it is
/// one TLS record where it fits. `head_only` leaves the body out, `close` says
/// that the connection ends with it. A header whose name or value could break
/// out of its line is left out.
[[nodiscard]] std::string response_text(const http_response& response,
                                        bool head_only, bool close);

/// The head of an answer that goes on; its connection ends with it. Chunked
/// only when its length is not known.
[[nodiscard]] std::string stream_head(const http_response& response,
                                      bool chunked);

/// A part of it that is not empty, and the end when it is chunked.
[[nodiscard]] std::string chunk_text(std::string_view text, bool chunked);
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

/// The answer to what the server refuses by itself; 401, 403, 404, 429 and 503
/// are the catalogue's codes, the others INVALID_INPUT.
[[nodiscard]] http_response refusal(const server_options& options, int status,
                                    const std::string& message);

}  // namespace bc::gateway
