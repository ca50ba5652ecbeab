#include "daemon/join_document.hpp"

#include "base/encoding.hpp"
#include "daemon/printable.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace bc::daemon {

namespace {

constexpr std::string_view well_known = "/.well-known/better-compute";
constexpr std::string_view default_base = "/api/compute";
constexpr int http_ok = 200;
constexpr int http_not_found = 404;
constexpr mode_t private_mode = 0600;
constexpr mode_t public_mode = 0644;

// "https://host[:port]" and the path behind it, without a slash at its end.
std::pair<std::string, std::string> split_path(std::string_view url) {
  auto scheme = url.find("://");
  auto slash = url.find('/', scheme == std::string_view::npos ? 0 : scheme + 3);
  auto path =
      slash == std::string_view::npos ? std::string_view{} : url.substr(slash);
  auto host = url.substr(0, url.size() - path.size());
  while (path.ends_with('/'))
    path.remove_suffix(1);
  return {std::string{host}, std::string{path}};
}

std::string toml_string(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    // A line end in a folder's name, say, has to be spelt out.
    if (c >= '\0' && c < ' ')
      out += "\\u00" + to_hex(as_bytes(std::string_view{&c, 1}));
    else
      out += c;
  }
  return out + "\"";
}

result<void> put(const std::filesystem::path& file, std::string_view text,
                 mode_t mode) {
  auto failed = [&] {
    return fail(errc::invalid_state,
                "cannot write " + file.string() + ": " + std::strerror(errno));
  };
  auto temporary = file.string() + ".tmp";
  ::unlink(temporary.c_str());
  int fd = ::open(temporary.c_str(),
                  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  if (fd < 0)
    return failed();
  // The umask may have taken what others need to read.
  bool good = ::fchmod(fd, mode) == 0 &&
              ::write(fd, text.data(), text.size()) ==
                  static_cast<ssize_t>(text.size()) &&
              ::fsync(fd) == 0;
  good = ::close(fd) == 0 && good;
  if (good && ::rename(temporary.c_str(), file.c_str()) == 0)
    return ok();
  auto why = failed();
  ::unlink(temporary.c_str());
  return why;
}

}  // namespace

result<join_document> fetch_join_document(const document_source& server) {
  auto [host, path] = split_path(server.url);
  document_source from{host, server.ca_file, server.plain_on_loopback};
  std::vector<std::string> places{path + std::string{well_known}};
  if (path.empty())
    places.push_back(std::string{default_base} + std::string{well_known});
  exchange got;
  for (const auto& place : places) {
    got = fetch_document(from, place);
    if (got.what != exchange::fate::answered || got.status != http_not_found)
      break;
  }
  if (got.what == exchange::fate::untrusted)
    return fail(errc::access_denied, got.why);
  if (got.what != exchange::fate::answered)
    return fail(errc::unavailable, got.why);
  if (got.status != http_ok)
    return fail(errc::unavailable,
                host + " has no document for joining machines (HTTP " +
                    std::to_string(got.status) + ")");
  auto document = parse_join_document(got.body);
  if (!document && document.error().code == errc::invalid_input)
    return fail(
        errc::unavailable,
        "the document of " + host + " cannot be read: " +
            printable(document.error().path + " " + document.error().message));
  return document;
}

result<config> make_config(const join_document& document,
                           const std::optional<given_pins>& pins,
                           const std::string& site,
                           const std::filesystem::path& config_file) {
  auto signing = document.signing_pin;
  auto encryption = document.encryption_key.pin();
  auto serving = document.serving_ca_pin;
  if (document.gateway_url.empty() || serving.empty())
    return fail(errc::invalid_config,
                "the control plane's document names no gateway");
  if (pins) {
    const struct {
      const char* flag;
      const std::string& given;
      const std::string& found;
    } rows[] = {{"--serving-ca-pin", pins->serving_ca, serving},
                {"--join-signing-pin", pins->join_signing, signing},
                {"--join-encryption-pin", pins->join_encryption, encryption}};
    for (const auto& row : rows)
      if (row.given != row.found)
        return fail(errc::access_denied,
                    std::string{"the control plane's document does not have "
                                "the pin of "} +
                        row.flag + "; nothing was sent");
  }
  config out;
  out.gateway_url = document.gateway_url;
  out.site = site;
  out.serving_ca_spki_pin = serving;
  out.join_signing_key_pin = signing;
  out.join_encryption_key_pin = encryption;
  out.join_encryption_jwk = config_file.parent_path() / "join-encryption.jwk";
  BC_TRYV(check(out));
  return out;
}

std::string to_toml(const config& c) {
  std::string out;
  const std::pair<const char*, std::string> rows[] = {
      {"gateway_url", c.gateway_url},
      {"site", c.site},
      {"serving_ca_spki_pin", c.serving_ca_spki_pin},
      {"join_signing_key_pin", c.join_signing_key_pin},
      {"join_encryption_key_pin", c.join_encryption_key_pin},
  };
  for (const auto& [key, value] : rows)
    out += std::string{key} + " = " + toml_string(value) + "\n";
  if (c.data_dir != config{}.data_dir)
    out += "data_dir = " + toml_string(c.data_dir.string()) + "\n";
  return out;
}

result<void> prepare_config_folder(const std::filesystem::path& config_file) {
  auto folder = std::filesystem::absolute(config_file).parent_path();
  std::error_code ec;
  std::filesystem::create_directories(folder, ec);
  if (ec || ::access(folder.c_str(), W_OK) != 0)
    return fail(errc::invalid_state, "cannot write to the folder " +
                                         folder.string() +
                                         ", where the configuration is to be");
  return ok();
}

result<void> write_config(const config& c, const join_document& document,
                          const std::filesystem::path& file) {
  BC_TRYV(
      put(c.join_encryption_jwk, document.encryption_jwk + "\n", public_mode));
  return put(file, to_toml(c), private_mode);
}

}  // namespace bc::daemon
