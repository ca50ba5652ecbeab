#include "base/json.hpp"
#include "daemon/discovery_mac.hpp"
#include "daemon/hardware.hpp"

#include <CLI/CLI.hpp>

#include <fstream>
#include <iterator>

namespace bc::daemon {

namespace {

std::string& hardware_file() {
  static std::string file;
  return file;
}

bool& any_token() {
  static bool any = false;
  return any;
}

result<pki::hardware_claims> decode(std::string_view text) {
  BC_TRY(doc, json::parse_object(text));
  json::reader from{doc};
  pki::hardware_claims out;
  const std::pair<const char*, std::string*> texts[] = {
      {"productUuid", &out.product_uuid},
      {"productSerial", &out.product_serial},
      {"boardSerial", &out.board_serial},
      {"chassisSerial", &out.chassis_serial},
      {"hostname", &out.hostname},
  };
  for (const auto& [name, field] : texts) {
    BC_TRY(value, from.optional_text(name));
    *field = value.value_or("");
  }
  BC_TRY(macs, from.texts_or_none("macs"));
  BC_TRY(gpus, from.texts_or_none("gpuUuids"));
  out.macs = macs;
  out.gpu_uuids = gpus;
  return out;
}

class file_source final : public hardware_source {
 public:
  result<pki::hardware_claims> read() override {
    std::ifstream in{hardware_file(), std::ios::binary};
    if (!in)
      return fail(errc::invalid_state,
                  "cannot read the hardware file " + hardware_file());
    std::string text{std::istreambuf_iterator<char>{in}, {}};
    auto claims = decode(text);
    if (!claims)
      return fail(errc::invalid_state, "the hardware file " + hardware_file() +
                                           ": " + claims.error().path + " " +
                                           claims.error().message);
    return claims;
  }
};

}  // namespace

void add_hardware_options(CLI::App& to, bool of_join) {
  to.add_option("--fake-hardware", hardware_file(),
                "JSON file with the hardware claims to send")
      ->type_name("FILE")
      ->required(of_join);
  if (!of_join)
    return;
  to.add_flag("--send-any-token", any_token(),
              "Send what was given also when it does not look like bcjt_…");
}

token_text sent_token_text() {
  return any_token() ? token_text::any : token_text::well_formed;
}

bool joins_without_pins() {
  return true;
}

std::unique_ptr<hardware_source> make_hardware_source() {
  return std::make_unique<file_source>();
}

mac_source make_mac_source() {
  return [](const endpoint&,
            const pki::hardware_claims& claims) -> result<std::string> {
    if (claims.macs.empty())
      return fail(errc::invalid_state, "the hardware file names no MAC");
    return claims.macs.front();
  };
}

}  // namespace bc::daemon
