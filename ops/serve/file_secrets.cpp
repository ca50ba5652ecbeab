#include "ops/serve/file_secrets.hpp"

#include "ops/cli/files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::serve {

namespace {

constexpr std::string_view scheme = "secret://file/";

// What can be a file here and nowhere else.
bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 && text.front() != '.' &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-' || c == '.';
         });
}

result<void> make_private_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail(errc::invalid_config,
                "cannot make " + path + ": " + std::strerror(errno));
  struct stat found {};
  if (::lstat(path.c_str(), &found) != 0 || !S_ISDIR(found.st_mode) ||
      found.st_uid != ::geteuid() || (found.st_mode & 077) != 0)
    return fail(errc::invalid_config,
                path +
                    " must be a folder of this user that nobody else can "
                    "enter (mode 0700)");
  return ok();
}

class file_secrets final : public actors::secret_sink {
 public:
  explicit file_secrets(std::string folder) : folder_(std::move(folder)) {}

  result<std::string> put(std::string_view name,
                          const secret_bytes& secret) override {
    if (!is_name(name))
      return fail(errc::internal, "is no name of a secret");
    BC_TRYV(cli::write_new_secret_file(path_of(name), secret.expose_text()));
    return std::string{scheme}.append(name);
  }

  void drop(const std::string& reference) noexcept override {
    std::string_view name{reference};
    if (!name.starts_with(scheme))
      return;
    name.remove_prefix(scheme.size());
    if (is_name(name))
      ::unlink(path_of(name).c_str());
  }

 private:
  [[nodiscard]] std::string path_of(std::string_view name) const {
    return (folder_ + "/").append(name);
  }

  std::string folder_;
};

}  // namespace

result<std::shared_ptr<actors::secret_sink>> open_file_secrets(
    std::string folder) {
  BC_TRYV(make_private_folder(folder));
  return std::make_shared<file_secrets>(std::move(folder));
}

}  // namespace bc::serve
