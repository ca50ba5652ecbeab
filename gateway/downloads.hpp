#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "gateway/http_server.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace bc::gateway {

/// `bcd` for one kind of machine.
struct program_name {
  std::string version;
  std::string arch;  // "amd64" or "arm64"

  bool operator==(const program_name&) const = default;
};

/// What {basePath}/downloads/bcd/ is followed by: {version}/linux-{arch},
/// exactly; nothing is decoded. nullopt for anything else.
[[nodiscard]] std::optional<program_name> parse_download(std::string_view path);

struct download_options {
  /// Holds FOLDER/{version}/linux-{arch}; empty: no folder. Links are not
  /// followed below it.
  std::string folder;
  /// One program that is elsewhere: its name and its file.
  std::optional<std::pair<program_name, std::string>> program;
  std::size_t max_transfers = 64;
  /// A transfer that takes longer is cut.
  seconds limit{600};
};

/// Serves the programs that machines are installed with (spec:
/// joining#adopting-a-brownfield-server). Files are opened and read on a thread
/// of its own, piece by piece at the pace of each client.
class downloads {
 public:
  [[nodiscard]] static std::shared_ptr<downloads> start(
      download_options options);
  virtual ~downloads() = default;

  /// Answers once, on the thread of the downloads or at once: 200 with the
  /// file; NOT_FOUND when there is none, UNAVAILABLE at `max_transfers`, while
  /// stopping, or when it cannot be read.
  virtual void open(program_name wanted,
                    std::function<void(result<http_response>)> done) = 0;

  [[nodiscard]] virtual std::size_t transfers() const = 0;
};

}  // namespace bc::gateway
