#include "base/wire_attest.hpp"
#include "daemon/commands.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/join.hpp"
#include "daemon/join_document.hpp"
#include "daemon/rejoin.hpp"
#include "daemon/token_file.hpp"
#include "daemon/token_input.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <unistd.h>

namespace bc::daemon {

namespace {

constexpr const char* join_help =
    "The join token is read from the environment variable BCD_JOIN_TOKEN, or\n"
    "from standard input up to its end, or from --token-file; never from an\n"
    "argument. Blanks and line ends around it are dropped. A token file has\n"
    "mode 0600 or 0400 and is deleted once the machine has joined.\n"
    "\n"
    "Without a configuration file, --server makes one: the machine takes the\n"
    "gateway from the control plane's document, and the document must have "
    "the\n"
    "three pins. --site is the site the machine stands in. With a\n"
    "configuration file they may be given too, and must be what it says.\n"
    "  bcd join --server https://compute.example.com --site site_... \\\n"
    "    --serving-ca-pin sha256/... --join-signing-pin sha256/... \\\n"
    "    --join-encryption-pin sha256/... --token-file ./join-token\n"
    "\n"
    "A machine whose identity expired or was revoked still counts as joined.\n"
    "To join it anew, as root:\n"
    "  bcd join --config /etc/bcd/config.toml --reset --yes < token-file\n"
    "renames identity.json, node.key, node.key.next, journal.db and what an\n"
    "unfinished join left to NAME.reset-TIME, and joins. Nothing is renamed\n"
    "unless configuration, key file, token text and hardware are in order.\n"
    "Where bcd node runs as a service: systemctl stop bcd before, systemctl\n"
    "restart bcd after.\n"
    "\n"
    "--attestor x509pop needs no token: the machine joins again as the same\n"
    "node by its own certificate, up to seven days after that was over. bcd\n"
    "node does it by itself.\n"
    "\n"
    "Exit codes:\n"
    "  0  joined, or joined already\n"
    "  1  refused, or waiting for a person's approval\n"
    "  2  wrong arguments, configuration or token text\n"
    "  3  the gateway, or the control plane of --server, cannot be reached\n"
    "  4  a pin or a check of the answer failed\n"
    "  5  the server is not configured for joins\n"
    "  6  another join of this machine was faster, also after retries\n"
    "  7  the data folder, another bcd, or the hardware identifiers\n"
    "  8  the server cannot join machines now";

struct join_arguments {
  std::string config_file = default_config_file;
  std::string data_dir;
  std::string role = "node";
  std::string node_id;
  std::string token_file;
  std::string server;
  std::string ca_file;
  std::string site;
  std::string attestor = "join-token";
  given_pins pins;
  bool reset = false;
  bool yes = false;
};

int ended(join_exit code, const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return static_cast<int>(code);
}

int reset_unconfirmed(const std::filesystem::path& data_dir) {
  std::string names;
  for (const auto& name : files_to_set_aside(data_dir))
    names += (names.empty() ? "" : ", ") + name;
  return complain(
      "--reset needs --yes; it would rename " +
      (names.empty() ? "nothing" : names) + " in " + data_dir.string() +
      (names.empty() ? "" : " to NAME.reset-TIME") + " before it joins");
}

document_source source_of(const join_arguments& given) {
  return {given.server, given.ca_file, joins_without_pins()};
}

// What is joined with: a configuration that was there, or one made of the
// control plane's document, to be written once the machine has joined.
struct set_up {
  config machine;
  std::optional<join_document> document;
};

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

join_exit exit_for(const fault& f) {
  switch (f.code) {
    case errc::unavailable:
      return join_exit::unreachable;
    case errc::access_denied:
      return join_exit::untrusted;
    case errc::invalid_state:
      return join_exit::local;
    default:
      return join_exit::usage;
  }
}

// Where the token comes from, and what becomes of its file.
class token_giver {
 public:
  explicit token_giver(std::string file) : file_(std::move(file)) {}

  result<secret_bytes> operator()() {
    if (file_.empty())
      return from_input();
    if (std::getenv(token_variable) != nullptr)
      return fail(errc::invalid_input,
                  "--token-file and BCD_JOIN_TOKEN are both given; give one");
    BC_TRY(read, read_token_file(file_));
    auto token = read.token.clone();
    read_ = std::move(read);
    return token;
  }

  void joined() {
    if (!read_)
      return;
    if (auto still = remove_token_file(file_, *read_))
      std::fprintf(stderr, "bcd: warning: %s\n", still->c_str());
  }

 private:
  static result<secret_bytes> from_input() {
    if (std::getenv(token_variable) == nullptr && ::isatty(STDIN_FILENO) == 1)
      std::fprintf(stderr,
                   "bcd: reading the join token from standard input; end it "
                   "with Ctrl-D\n");
    return read_token(STDIN_FILENO, sent_token_text());
  }

  std::string file_;
  std::optional<token_in_file> read_;
};

// By the certificate that is there; no token is read.
int rejoin(const join_arguments& given) {
  if (!given.token_file.empty() || !given.server.empty() ||
      !given.node_id.empty())
    return complain(
        "--attestor x509pop goes by the certificate that is there: no "
        "--token-file, --server or --node-id");
  auto loaded = load_config(given.config_file);
  if (!loaded)
    return complain(loaded.error().message);
  auto& machine = loaded.value();
  if (!given.data_dir.empty())
    machine.data_dir = std::filesystem::absolute(given.data_dir);
  auto hardware = make_hardware_source();
  rejoin_tools tools;
  tools.hardware = [&hardware] { return hardware->read(); };
  auto outcome = run_rejoin(machine, tools);
  const bool joined = outcome.exit_code == join_exit::joined;
  std::fprintf(joined ? stdout : stderr, "%s\n", outcome.message.c_str());
  if (joined)
    std::printf("to run bcd node with it: systemctl restart bcd\n");
  return static_cast<int>(outcome.exit_code);
}

int join(const join_arguments& given) {
  if (given.attestor == wire::x509pop_attestor)
    return rejoin(given);
  if (!given.node_id.empty() && !node_id::parse(given.node_id))
    return complain("--node-id is not a node id (node_...)");
  auto prepared = set_up_for(given);
  if (!prepared)
    return ended(exit_for(prepared.error()),
                 "bcd: " + prepared.error().message);
  auto& machine = prepared.value().machine;
  auto& document = prepared.value().document;
  if (given.reset && !given.yes)
    return reset_unconfirmed(machine.data_dir);
  join_options options;
  options.reset = given.reset;
  options.role =
      pki::parse_role(given.role).value_or(pki::certificate_role::node);
  options.node_id = given.node_id;
  if (document)
    options.fetch_key = [&]() -> result<pki::public_key> {
      return document->encryption_key;
    };
  else if (!given.server.empty())
    options.fetch_key = [&]() -> result<pki::public_key> {
      BC_TRY(fetched, fetch_join_document(source_of(given)));
      return fetched.encryption_key;
    };
  auto hardware = make_hardware_source();
  token_giver token{given.token_file};
  auto outcome = run_join(
      machine, *hardware, [&token] { return token(); }, options);
  // The token must not reach a process started later, also when not needed.
  ::unsetenv(token_variable);
  bool joined = outcome.exit_code == join_exit::joined;
  std::fprintf(joined ? stdout : stderr, "%s\n", outcome.message.c_str());
  if (outcome.already_joined)
    std::printf(
        "to set this identity aside and join anew: systemctl stop bcd; bcd "
        "join --reset --yes\n");
  else if (joined)
    std::printf("to run bcd node with it: systemctl restart bcd\n");
  // It is spent, whatever comes now.
  if (joined && !outcome.already_joined)
    token.joined();
  if (joined && document)
    if (auto written = write_config(machine, *document, given.config_file);
        !written)
      return ended(join_exit::local,
                   "bcd: " + written.error().message +
                       "; run the same command again, it writes the "
                       "configuration without joining again");
  return static_cast<int>(outcome.exit_code);
}

void add_server_options(CLI::App& to, join_arguments& given) {
  to.add_option("--token-file", given.token_file,
                "File with the join token (0600 or 0400); deleted after")
      ->type_name("FILE");
  to.add_option("--server", given.server,
                "The control plane, for a machine without a configuration or "
                "without join-encryption.jwk")
      ->type_name("URL");
  to.add_option("--ca-file", given.ca_file,
                "CA certificates (PEM) that vouch for --server, beside the "
                "system's")
      ->type_name("FILE");
  to.add_option("--site", given.site,
                "The site, with --server; else as configured")
      ->type_name("SITE");
  to.add_option("--serving-ca-pin", given.pins.serving_ca,
                "Pin of the gateways' CA, with --server")
      ->type_name("PIN");
  to.add_option("--join-signing-pin", given.pins.join_signing,
                "Pin of the key that signs answers, with --server")
      ->type_name("PIN");
  to.add_option("--join-encryption-pin", given.pins.join_encryption,
                "Pin of the key that tokens are sealed to, with --server")
      ->type_name("PIN");
}

}  // namespace

int complain(const std::string& message) {
  return ended(join_exit::usage, "bcd: " + message);
}

command add_join_command(CLI::App& app) {
  auto given = std::make_shared<join_arguments>();
  auto* self = app.add_subcommand(
      "join", "Join this machine to its pool with a join token");
  self->add_option("--config", given->config_file, "Configuration file")
      ->type_name("FILE")
      ->capture_default_str();
  self->add_option("--data-dir", given->data_dir,
                   "Data folder (default: data_dir of the configuration, or "
                   "/var/lib/bcd)")
      ->type_name("DIR");
  self->add_option("--role", given->role,
                   "What joins: node (a machine of a pool), site (an agent, "
                   "with a site token) or ramdisk (with a discovery token)")
      ->check(CLI::IsMember({"node", "site", "ramdisk"}))
      ->capture_default_str();
  self->add_option("--node-id", given->node_id,
                   "The node this machine is to be, for a token that was made "
                   "for one node")
      ->type_name("NODE");
  add_server_options(*self, *given);
  auto* attestor =
      self->add_option("--attestor", given->attestor,
                       "What the machine is admitted by: join-token, or "
                       "x509pop (its own expired certificate)")
          ->check(CLI::IsMember({"join-token", "x509pop"}))
          ->capture_default_str();
  auto* reset =
      self->add_flag("--reset", given->reset,
                     "Set the old identity aside before joining; with --yes")
          ->excludes(attestor);
  self->add_flag("--yes", given->yes, "Do what --reset says without asking")
      ->needs(reset);
  add_hardware_options(*self, true);
  self->footer(join_help);
  return {self, [given] { return join(*given); }};
}

}  // namespace bc::daemon
