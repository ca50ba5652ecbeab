#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "gateway/http_server.hpp"
#include "ops/serve/config.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

/// Certificates, keys and authorities in files, taken anew while a program
/// runs: by itself when they changed, at once when it is asked to (SIGHUP).
namespace bc::serve {

/// The files of one side of TLS.
struct tls_files {
  identity_files identity;
  std::string ca;  // who the other side is checked by; empty: no file
};

/// What they hold.
struct tls_material {
  std::shared_ptr<const gateway::tls_identity> identity;
  std::string ca_pem;
};
[[nodiscard]] result<tls_material> read_tls(const tls_files& files);

/// One side of TLS that a program serves or dials with.
struct renewable {
  std::string name;  // as in the log and the metric: "listen"
  tls_files files;
  tls_material in_use;
  /// Begins to use it; a fault when it cannot be, and nothing is changed then.
  std::function<result<void>(const tls_material&)> use;
  /// Who asks has it used though its files are unchanged: to use it is to try
  /// it, and the other side may have been mended.
  bool tried_when_asked = false;
};

/// What became of one of them in a look.
struct renewal {
  enum class what { taken, unchanged, refused };
  std::string name;
  what became;
  std::string why;  // of what is refused
};

class certificate_files {
 public:
  explicit certificate_files(std::vector<renewable> all);
  certificate_files(const certificate_files&) = delete;
  certificate_files& operator=(const certificate_files&) = delete;
  ~certificate_files();

  /// Looks so often from now on, on a thread of its own, and logs what became
  /// of what changed.
  void watch(milliseconds interval = std::chrono::minutes{1});
  /// SIGHUP: takes what the files hold, and logs of each what became of it. Any
  /// thread; blocks for the files.
  void renew_now();

  /// What changed is taken once two looks in a row saw the same, so that
  /// nothing is taken half-written; what is refused, once for what it is, and
  /// again when it is not valid yet and its time came.
  [[nodiscard]] std::vector<renewal> look(time_point now);
  /// A look that takes, or refuses, at once, and tries what is unchanged.
  [[nodiscard]] std::vector<renewal> look_asked(time_point now);

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace bc::serve
