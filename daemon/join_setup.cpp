#include "daemon/join_setup.hpp"

#include "base/ids.hpp"
#include "daemon/hardware.hpp"
#include "pki/key.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>

namespace bc::daemon {

namespace {

// The pins of the command line; a fault unless there are all three, or none
// where that is allowed.
result<std::optional<given_pins>> pins_of(const join_arguments& given) {
  const struct {
    const char* flag;
    const std::string& value;
  } rows[] = {{"--serving-ca-pin", given.pins.serving_ca},
              {"--join-signing-pin", given.pins.join_signing},
              {"--join-encryption-pin", given.pins.join_encryption}};
  auto count = std::count_if(std::begin(rows), std::end(rows),
                             [](const auto& r) { return !r.value.empty(); });
  if (count == 0 && joins_without_pins())
    return std::optional<given_pins>{};
  for (const auto& row : rows)
    if (!pki::is_pin(row.value))
      return fail(errc::invalid_config,
                  "there is no " + given.config_file + ", and " + row.flag +
                      " is " +
                      (row.value.empty() ? "missing" : "not a pin (sha256/…)") +
                      ": a document without pins could be anybody's");
  return std::optional{given.pins};
}

result<set_up> from_document(const join_arguments& given) {
  BC_TRY(pins, pins_of(given));
  if (!site_id::parse(given.site))
    return fail(errc::invalid_config,
                "there is no " + given.config_file +
                    ", and --site is missing or no site id (site_…)");
  BC_TRYV(prepare_config_folder(given.config_file));
  BC_TRY(document, fetch_join_document(source_of(given)));
  BC_TRY(machine, make_config(document, pins, given.site, given.config_file));
  if (!pins)
    std::fprintf(stderr,
                 "bcd: no pins given: what the control plane's document says "
                 "is trusted; only a build for trials does this\n");
  return set_up{machine, document};
}

// What is given twice must be the same: the command line must not be ignored.
result<void> check_same(const join_arguments& given, const config& there) {
  const struct {
    const char* flag;
    const std::string& value;
    const char* key;
    const std::string& configured;
  } rows[] = {{"--site", given.site, "site", there.site},
              {"--serving-ca-pin", given.pins.serving_ca, "serving_ca_spki_pin",
               there.serving_ca_spki_pin},
              {"--join-signing-pin", given.pins.join_signing,
               "join_signing_key_pin", there.join_signing_key_pin},
              {"--join-encryption-pin", given.pins.join_encryption,
               "join_encryption_key_pin", there.join_encryption_key_pin}};
  for (const auto& row : rows)
    if (!row.value.empty() && row.value != row.configured)
      return fail(errc::invalid_config,
                  std::string{row.flag} + " is not the " + row.key + " of " +
                      given.config_file + "; nothing was sent");
  return ok();
}

}  // namespace

document_source source_of(const join_arguments& given) {
  return {given.server, given.ca_file, joins_without_pins()};
}

result<set_up> set_up_for(const join_arguments& given) {
  std::error_code ec;
  bool is_there = std::filesystem::exists(given.config_file, ec) || ec;
  set_up out;
  if (!is_there && !given.server.empty()) {
    BC_TRY(made, from_document(given));
    out = made;
  } else {
    BC_TRY(loaded, load_config(given.config_file));
    BC_TRYV(check_same(given, loaded));
    out.machine = loaded;
  }
  if (!given.data_dir.empty())
    out.machine.data_dir = std::filesystem::absolute(given.data_dir);
  return out;
}

}  // namespace bc::daemon
