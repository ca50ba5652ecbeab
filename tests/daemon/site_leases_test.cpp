// spec: ATTESTATION section 4, "source IP -> its own DHCP lease -> MAC"
#include "daemon/site_leases.hpp"

#include "tests/support/temporary_folder.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/stat.h>

using namespace bc;
using daemon::lease_file;
using daemon::parse_dnsmasq_leases;

namespace {

const time_point now = from_millis(1'764'000'000'000);
constexpr const char* mac = "3c:ec:ef:00:00:01";

std::string line(const std::string& expiry, const std::string& hardware,
                 const std::string& ip) {
  return expiry + " " + hardware + " " + ip + " host-1 01:" + mac + "\n";
}

std::string good(const std::string& ip = "10.0.0.21") {
  return line("1764003600", mac, ip);
}

// As if the file had been written long ago.
void settle(const std::filesystem::path& file, std::int64_t age_s) {
  timespec times[2];
  times[0].tv_sec = times[1].tv_sec = to_millis(now) / 1000 - age_s;
  times[0].tv_nsec = times[1].tv_nsec = 0;
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

}  // namespace

TEST_CASE("leases: dnsmasq's file as it writes it") {
  auto read = parse_dnsmasq_leases(
      "1764003600 3C:EC:EF:00:00:01 10.0.0.21 ramdisk-1 ff:56:50:4d:98\n"
      "0 3c:ec:ef:00:00:02 10.0.0.22 * *\n"
      "1764003600 20-80:00:02:08:fe:80:00:00:00 10.0.0.23 ib-1 *\n"
      "1764003600 3c:ec:ef:00:00:04 10.0.0.24 m\xc3\xbc-4 *\n"
      "duid 00:01:00:01:2c:5a:11:22:3c:ec:ef:00:00:99\n"
      "1764003600 123456 fd00::1234 host-2 00:01:00:01:aa\n"
      "1764003600 T7 fd00::1235 * 00:01:00:01:ab\n");
  REQUIRE(read);
  const auto& all = read.value();
  REQUIRE(all.size() == 3);
  CHECK(all.at("10.0.0.21").mac == mac);
  CHECK(all.at("10.0.0.21").expires_at == from_millis(1'764'003'600'000));
  CHECK(all.at("10.0.0.22") ==
        daemon::dhcp_lease{"3c:ec:ef:00:00:02", std::nullopt});
  CHECK(all.contains("10.0.0.24"));
  CHECK(parse_dnsmasq_leases("").value().empty());
}

TEST_CASE("leases: what clients said of themselves is left out") {
  const std::string extras =
      "agent-info 10.0.0.21 01:04:65:74:68:30\n"
      "vendorclass 10.0.0.21 50:58:45\n"
      "vendorclass fd00::1234 0a\n";
  auto plain = parse_dnsmasq_leases(good() + extras);
  REQUIRE(plain);
  CHECK(plain.value() == parse_dnsmasq_leases(good()).value());
  const std::string six =
      "duid 00:01\n1764003600 123456 fd00::1234 host-2 00:01\n";
  auto both = parse_dnsmasq_leases(good() + six + extras);
  REQUIRE(both);
  CHECK(both.value() == plain.value());
}

TEST_CASE("leases: whatever is none of it fails the file, with its line") {
  const std::pair<const char*, std::string> rows[] = {
      {"no end", "1764003600 3c:ec:ef:00:00:01 10.0.0.21 host-1 *"},
      {"empty line", "\n"},
      {"four fields", "1764003600 3c:ec:ef:00:00:01 10.0.0.21 host-1\n"},
      {"six fields", "1764003600 3c:ec:ef:00:00:01 10.0.0.21 a b c\n"},
      {"two blanks", "1764003600  3c:ec:ef:00:00:01 10.0.0.21 a *\n"},
      {"a blank at the end", "1764003600 3c:ec:ef:00:00:01 10.0.0.21 a * \n"},
      {"a tab", "1764003600\t3c:ec:ef:00:00:01 10.0.0.21 a *\n"},
      {"CR", "1764003600 3c:ec:ef:00:00:01 10.0.0.21 a *\r\n"},
      {"NUL",
       std::string("1764003600 3c:ec:ef:00:00:01 10.0.0.21 a\0 *\n", 43)},
      {"no time", line("soon", mac, "10.0.0.21")},
      {"a negative time", line("-1", mac, "10.0.0.21")},
      {"a time past all", line("253402300800", mac, "10.0.0.21")},
      {"a short MAC", line("0", "3c:ec:ef:00:00", "10.0.0.21")},
      {"a long MAC", line("0", "3c:ec:ef:00:00:01:02", "10.0.0.21")},
      {"a MAC with dashes", line("0", "3c-ec-ef-00-00-01", "10.0.0.21")},
      {"no hex", line("0", "3c:ec:ef:00:00:0g", "10.0.0.21")},
      {"three numbers", line("0", mac, "10.0.21")},
      {"five numbers", line("0", mac, "10.0.0.0.21")},
      {"a number too large", line("0", mac, "10.0.0.256")},
      {"a leading zero", line("0", mac, "10.0.0.021")},
      {"an IPv6 address before the DUID", line("0", mac, "fd00::1")},
      {"one address twice",
       good() + line("0", "3c:ec:ef:00:00:02", "10.0.0.21")},
      {"a DUID of no form", "duid x\n"},
      {"two DUIDs", "duid 00:01\nduid 00:01\n"},
      {"an IPv4 lease after it", "duid 00:01\n" + good()},
      {"an agent's words of no form", "agent-info 10.0.0.21 x\n"},
      {"an agent's words of nobody", "agent-info host-1 01:02\n"},
      {"an agent's words with more", "agent-info 10.0.0.21 01:02 *\n"},
      {"no vendor class", "vendorclass 10.0.0.21\n"},
      {"a vendor class in clear", "vendorclass 10.0.0.21 PXEClient\n"},
      {"an IPv4 lease after one", "vendorclass 10.0.0.21 50:58\n" + good()},
      {"a DUID after one", "vendorclass 10.0.0.21 50:58\nduid 00:01\n"},
      {"no IAID", "duid 00:01\n0 x fd00::1 * 00:01\n"},
  };
  for (const auto& [what, text] : rows) {
    INFO(what);
    auto read = parse_dnsmasq_leases(text);
    REQUIRE_FALSE(read);
    CHECK(read.error().code == errc::invalid_state);
    CHECK_THAT(read.error().message, Catch::StartsWith("line "));
  }
  CHECK_THAT(parse_dnsmasq_leases(good() + "\n").error().message,
             Catch::StartsWith("line 2 "));
}

TEST_CASE("leases: an address is its machine's until the lease is over") {
  temporary_folder folder;
  write_text(folder / "leases",
             line("1764000000", mac, "10.0.0.20") + good("10.0.0.21"));
  lease_file leases{folder / "leases"};
  CHECK_FALSE(leases.mac_at("10.0.0.20", now).value());
  CHECK(leases.mac_at("10.0.0.20", now - milliseconds{1}).value() == mac);
  CHECK(leases.mac_at("10.0.0.21", now).value() == mac);
  CHECK_FALSE(leases.mac_at("10.0.0.22", now).value());
  CHECK_FALSE(leases.mac_at("", now).value());
}

TEST_CASE("leases: the file is read again when it has changed") {
  temporary_folder folder;
  const auto file = folder / "leases";
  lease_file leases{file};
  auto missing = leases.mac_at("10.0.0.21", now);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == errc::invalid_state);
  CHECK_THAT(missing.error().message, Catch::Contains(file.string()));

  write_text(file, good("10.0.0.21"));
  settle(file, 60);
  CHECK(leases.mac_at("10.0.0.21", now).value());
  // Same size, in place.
  write_text(file, good("10.0.0.22"));
  settle(file, 30);
  CHECK_FALSE(leases.mac_at("10.0.0.21", now).value());
  CHECK(leases.mac_at("10.0.0.22", now).value());
  // Another file of that size and time in its place.
  write_text(folder / "other", good("10.0.0.23"));
  settle(folder / "other", 30);
  std::filesystem::rename(folder / "other", file);
  CHECK(leases.mac_at("10.0.0.23", now).value());
  // What is broken does not leave the old leases in force.
  write_text(file, "1764003600 3c:ec:ef");
  CHECK_FALSE(leases.mac_at("10.0.0.23", now));
  write_text(file, good("10.0.0.23"));
  settle(file, 30);
  CHECK(leases.mac_at("10.0.0.23", now).value());
}

TEST_CASE("leases: two changes within one tick of the clock are both seen") {
  temporary_folder folder;
  const auto file = folder / "leases";
  lease_file leases{file};
  write_text(file, good("10.0.0.21"));
  settle(file, 0);
  CHECK(leases.mac_at("10.0.0.21", now).value());
  write_text(file, good("10.0.0.22"));
  settle(file, 0);
  CHECK(leases.mac_at("10.0.0.22", now).value());
}

TEST_CASE("leases: what is no file of a lease's size is not read") {
  temporary_folder folder;
  std::filesystem::create_directory(folder / "folder");
  CHECK_FALSE(lease_file{folder / "folder"}.mac_at("10.0.0.21", now));
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_FALSE(lease_file{folder / "pipe"}.mac_at("10.0.0.21", now));
  write_text(folder / "large", "");
  std::filesystem::resize_file(folder / "large", daemon::max_lease_file + 1);
  CHECK_FALSE(lease_file{folder / "large"}.mac_at("10.0.0.21", now));
}
