#include "daemon/site_leases.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace bc::daemon {

namespace {

constexpr std::size_t fields_of_a_lease = 5;
constexpr std::size_t fields_of_an_extra = 3;
constexpr std::size_t mac_size = 17;
// A file that changes twice within the granularity of its time looks the same.
constexpr seconds too_fresh{2};
constexpr std::int64_t ns_in_s = 1'000'000'000;
constexpr std::int64_t ns_in_ms = 1'000'000;

fault bad_line(std::size_t number, std::string_view what) {
  return fail(errc::invalid_state,
              "line " + std::to_string(number) + " " + std::string{what});
}

bool has_controls(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f;
  });
}

// So many fields, a blank between two of them.
template <std::size_t Fields>
bool split(std::string_view line, std::array<std::string_view, Fields>& out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    auto end = line.find(' ');
    const bool last = i + 1 == out.size();
    if ((end == std::string_view::npos) != last)
      return false;
    out[i] = line.substr(0, end);
    if (out[i].empty() || has_controls(out[i]))
      return false;
    line.remove_prefix(last ? line.size() : end + 1);
  }
  return true;
}

template <class Number>
std::optional<Number> number_in(std::string_view text, Number most) {
  Number value{};
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value > most)
    return std::nullopt;
  return value;
}

std::optional<std::uint64_t> expiry_in(std::string_view text) {
  // Far enough for every lease, and a time_point holds it.
  constexpr std::uint64_t latest = 253'402'300'799;  // 9999-12-31
  return number_in<std::uint64_t>(text, latest);
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') ||
         (c >= 'A' && c <= 'F');
}

// Pairs of digits with colons between: a MAC, a DUID or a client's id.
bool is_colon_hex(std::string_view text) {
  if (text.size() % 3 != 2)
    return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (i % 3 == 2 ? text[i] != ':' : !is_hex(text[i]))
      return false;
  return true;
}

bool is_ipv4(std::string_view text) {
  for (int part = 0; part < 4; ++part) {
    auto end = part < 3 ? text.find('.') : text.size();
    if (end == std::string_view::npos)
      return false;
    auto digits = text.substr(0, end);
    // Canonical: no leading zero.
    if (digits.size() > 3 || (digits.size() > 1 && digits.front() == '0') ||
        !number_in<unsigned>(digits, 255))
      return false;
    text.remove_prefix(part < 3 ? end + 1 : end);
  }
  return text.empty();
}

bool is_ipv6(std::string_view text) {
  return text.size() <= 45 && text.find(':') != std::string_view::npos &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_hex(c) || c == ':' || c == '.'; });
}

// dnsmasq writes a temporary address's as T1234.
bool is_iaid(std::string_view text) {
  if (text.starts_with('T'))
    text.remove_prefix(1);
  return number_in(text, std::numeric_limits<std::uint32_t>::max()).has_value();
}

std::string lower(std::string_view text) {
  std::string out{text};
  for (char& c : out)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// Hardware other than Ethernet has its ARP type in front: "20-80:00:…".
bool is_other_hardware(std::string_view text) {
  return text.size() > 3 && is_hex(text[0]) && is_hex(text[1]) &&
         text[2] == '-' && is_colon_hex(text.substr(3));
}

// In the order in which they come.
enum class section { ipv4, ipv6, extras };

// What clients or relays said of themselves, of either kind of lease; newer
// dnsmasq writes it at the end of the file: "vendorclass 10.0.0.21 50:58:45".
bool is_extra(std::string_view line) {
  return line.starts_with("agent-info ") || line.starts_with("vendorclass ");
}

result<void> read_line(std::string_view line, std::size_t number,
                       section& where, dhcp_leases& out) {
  if (is_extra(line)) {
    std::array<std::string_view, fields_of_an_extra> f;
    if (!split(line, f) || (!is_ipv4(f[1]) && !is_ipv6(f[1])) ||
        !is_colon_hex(f[2]))
      return bad_line(number, "is not what a client said of itself");
    where = section::extras;
    return ok();
  }
  if (where == section::extras)
    return bad_line(number, "comes after what clients said of themselves");
  if (line.starts_with("duid ")) {
    if (where == section::ipv6 || !is_colon_hex(line.substr(5)))
      return bad_line(number, "is not the server's DUID");
    where = section::ipv6;
    return ok();
  }
  std::array<std::string_view, fields_of_a_lease> f;
  if (!split(line, f))
    return bad_line(number, "does not have five fields");
  auto expiry = expiry_in(f[0]);
  if (!expiry)
    return bad_line(number, "does not begin with a time");
  if (where == section::ipv6) {
    if (!is_iaid(f[1]) || !is_ipv6(f[2]))
      return bad_line(number, "is not an IPv6 lease");
    return ok();
  }
  const bool ethernet = f[1].size() == mac_size && is_colon_hex(f[1]);
  if (!ethernet && !is_other_hardware(f[1]))
    return bad_line(number, "has no MAC in its second field");
  if (!is_ipv4(f[2]))
    return bad_line(number, "has no IPv4 address in its third field");
  dhcp_lease lease{ethernet ? lower(f[1]) : std::string{}, std::nullopt};
  if (*expiry != 0)
    lease.expires_at = time_point{seconds{*expiry}};
  if (!out.emplace(std::string{f[2]}, std::move(lease)).second)
    return bad_line(number, "has an address that another line has");
  return ok();
}

struct closer {
  void operator()(const int* fd) const { ::close(*fd); }
};

result<std::string> read_all(int fd, std::size_t size) {
  std::string out(size + 1, '\0');
  std::size_t have = 0;
  while (have < out.size()) {
    auto got = ::read(fd, out.data() + have, out.size() - have);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail(errc::invalid_state,
                  std::string{"cannot be read: "} + std::strerror(errno));
    if (got == 0)
      break;
    have += static_cast<std::size_t>(got);
  }
  if (have != size)
    return fail(errc::invalid_state, "changed while it was read");
  out.resize(have);
  return out;
}

}  // namespace

result<dhcp_leases> parse_dnsmasq_leases(std::string_view text) {
  dhcp_leases out;
  auto where = section::ipv4;
  for (std::size_t number = 1; !text.empty(); ++number) {
    auto end = text.find('\n');
    if (end == std::string_view::npos)
      return bad_line(number, "is cut off");
    BC_TRYV(read_line(text.substr(0, end), number, where, out));
    text.remove_prefix(end + 1);
  }
  std::erase_if(out, [](const auto& row) { return row.second.mac.empty(); });
  return out;
}

result<void> lease_file::refresh(time_point now) {
  auto failed = [this](std::string what) {
    read_.reset();
    return fail(errc::invalid_state,
                "the DHCP lease file " + path_.string() + ": " + what);
  };
  // Not to be held up by a pipe in its place.
  int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0)
    return failed(std::string{"cannot be opened: "} + std::strerror(errno));
  std::unique_ptr<const int, closer> open{&fd};
  struct stat about {};
  if (::fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
    return failed("is not a file");
  if (about.st_size > static_cast<off_t>(max_lease_file))
    return failed("is larger than 16 MiB");
  stamp seen{about.st_dev, about.st_ino, about.st_size,
             about.st_mtim.tv_sec * ns_in_s + about.st_mtim.tv_nsec};
  if (read_ == seen)
    return ok();
  auto text = read_all(fd, static_cast<std::size_t>(about.st_size));
  if (!text)
    return failed(text.error().message);
  auto leases = parse_dnsmasq_leases(text.value());
  if (!leases)
    return failed(leases.error().message);
  leases_ = std::move(leases).value();
  const bool settled =
      from_millis(seen.modified_ns / ns_in_ms) + too_fresh <= now;
  read_ = settled ? std::optional{seen} : std::nullopt;
  return ok();
}

result<std::optional<std::string>> lease_file::mac_at(std::string_view address,
                                                      time_point now) {
  BC_TRYV(refresh(now));
  auto found = leases_.find(address);
  if (found == leases_.end() ||
      (found->second.expires_at && *found->second.expires_at <= now))
    return std::optional<std::string>{};
  return std::optional{found->second.mac};
}

}  // namespace bc::daemon
