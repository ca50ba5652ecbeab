#include "ops/cli/daemon_release.hpp"

#include "base/encoding.hpp"
#include "base/json.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/options.hpp"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>

namespace bc::cli {

namespace {

constexpr std::size_t max_program = 256 * 1024 * 1024;
// ELF: magic, 64 bits, little endian; e_machine at 18 (System V ABI).
constexpr std::string_view elf_start{
    "\x7f"
    "ELF\x02\x01",
    6};
constexpr std::size_t machine_at = 18;

fault bad(std::string message) {
  return fail(errc::invalid_input, std::move(message));
}

bool is_program_of(std::string_view content, std::string_view arch) {
  const char machine = arch == "arm64" ? '\xb7' : '\x3e';
  return content.size() > machine_at + 1 && content.starts_with(elf_start) &&
         content[machine_at] == machine && content[machine_at + 1] == '\0';
}

result<std::string> read_program(const std::string& path) {
  std::error_code failed;
  auto size = std::filesystem::file_size(path, failed);
  if (failed)
    return fail(errc::not_found,
                "cannot read " + path + ": " + failed.message());
  if (size > max_program)
    return bad(path + " is over 256 MiB");
  std::ifstream in{path, std::ios::binary};
  std::ostringstream out;
  out << in.rdbuf();
  if (!in || !out)
    return fail(errc::unavailable, "cannot read " + path);
  return std::move(out).str();
}

result<pki::private_key> read_key(const std::string& path) {
  BC_TRY(pem, read_secret_file(path));
  auto key = pki::private_key::from_pkcs8_pem(pem.expose_text());
  if (!key)
    return fail(errc::invalid_config,
                path + " is no key that `daemon release-key` made");
  return key;
}

struct release_arguments {
  std::string version;
  std::string key;
  std::vector<std::string> programs;
  std::string out;
};

result<pki::release> read_release(const release_arguments& a) {
  pki::release out;
  out.version = a.version;
  out.created_at = to_rfc3339(system_clock{}.now());
  for (const auto& argument : a.programs) {
    BC_TRY(file, release_file_of(argument));
    out.files.push_back(std::move(file));
  }
  return out;
}

result<void> put_manifest(const std::string& path, const std::string& text) {
  if (path.empty()) {
    std::cout << text << "\n";
    return ok();
  }
  std::error_code ignored;
  if (std::filesystem::symlink_status(path, ignored).type() !=
      std::filesystem::file_type::not_found)
    return fail(errc::already_exists,
                path + " exists; choose a new path, nothing was written");
  return write_file(path, text + "\n");
}

void tell_release(const context& ctx, const pki::release& r,
                  const std::string& pin, const std::string& out) {
  if (ctx.json()) {
    json::writer text;
    text.begin_object().field("version", r.version);
    text.key("files").begin_array();
    for (const auto& f : r.files)
      text.begin_object()
          .field("arch", f.arch)
          .field("sha256", to_hex(f.sha256))
          .field("size", f.size)
          .end_object();
    text.end_array().field("releasePin", pin).field("manifestFile", out);
    std::cout << text.end_object().str() << "\n";
    return;
  }
  std::cout << "version       " << r.version << "\n";
  for (const auto& f : r.files)
    std::cout << f.arch << "         " << to_hex(f.sha256) << " (" << f.size
              << " bytes)\n";
  std::cout << "release pin   " << pin << "\n"
            << "The manifest is in " << out << ".\n";
}

void make_release(context& ctx, const release_arguments& a) {
  auto key = read_key(a.key);
  if (!key)
    return report(ctx, key.error(), usage);
  auto release = read_release(a);
  if (!release)
    return report(ctx, release.error(), usage);
  auto manifest = pki::sign_release(key.value(), release.value());
  if (!manifest)
    return report(ctx, manifest.error(), usage);
  if (auto put = put_manifest(a.out, manifest.value()); !put)
    return report(ctx, put.error());
  if (!a.out.empty())
    tell_release(ctx, release.value(), key.value().pub().pin(), a.out);
}

void tell_pin(const context& ctx, const std::string& pin) {
  if (!ctx.json()) {
    std::cout << "release pin   " << pin << "\n";
    return;
  }
  json::writer out;
  std::cout << out.begin_object().field("releasePin", pin).end_object().str()
            << "\n";
}

void show_or_make_key(context& ctx, const std::string& out,
                      const std::string& existing) {
  if (out.empty() == existing.empty())
    return report(ctx,
                  bad("give --out FILE to make a key, or --key FILE to show "
                      "the pin of one"),
                  usage);
  if (!existing.empty()) {
    auto key = read_key(existing);
    return key ? tell_pin(ctx, key.value().pub().pin())
               : report(ctx, key.error(), usage);
  }
  auto key = pki::private_key::generate();
  auto kept = write_new_secret_file(out, key.pkcs8_pem().expose_text());
  if (!kept)
    return report(ctx, kept.error());
  tell_pin(ctx, key.pub().pin());
  if (!ctx.json())
    std::cout << "The key is in " << out << " (0600).\n";
}

}  // namespace

result<pki::release_file> release_file_of(const std::string& argument) {
  auto equals = argument.find('=');
  auto arch = argument.substr(0, equals);
  if (equals == std::string::npos || !pki::is_release_arch(arch))
    return bad("'" + argument + "' is not amd64=FILE or arm64=FILE");
  auto path = argument.substr(equals + 1);
  BC_TRY(content, read_program(path));
  if (!is_program_of(content, arch))
    return bad(path + " is no program for " + arch);
  pki::release_file out;
  out.arch = std::move(arch);
  out.sha256 = pki::sha256(as_bytes(content));
  out.size = static_cast<std::int64_t>(content.size());
  return out;
}

void add_release(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "release",
      "Sign which programs a version of bcd is, for install scripts");
  auto a = std::make_shared<release_arguments>();
  add_text(*c, "--version", a->version, "The version, for example 0.1.0")
      ->required();
  add_path(*c, "--key", a->key, "The release key, of `daemon release-key`")
      ->required();
  c->add_option("PROGRAM", a->programs, "amd64=FILE, arm64=FILE")
      ->expected(1, 2)
      ->required();
  add_out(*c, a->out, "A new file for the manifest, which is no secret");
  add_output_option(*c, ctx);
  add_examples(*c, {"daemon release --version 0.1.0 --key release-key \\\n"
                    "    amd64=build/release/bcd arm64=build/arm64/bcd "
                    "--out bcd-0.1.0.json"});
  c->callback([&ctx, a] { make_release(ctx, *a); });
}

void add_release_key(CLI::App& group, context& ctx) {
  auto* c = group.add_subcommand(
      "release-key",
      "Make the key that signs releases, or show the pin of one");
  auto out = std::make_shared<std::string>();
  auto existing = std::make_shared<std::string>();
  add_path(*c, "--out", *out, "A new file (0600) for a new key");
  add_path(*c, "--key", *existing, "The file of a key: its pin alone is shown");
  add_output_option(*c, ctx);
  add_examples(*c,
               {"daemon release-key --out release-key",
                "daemon release-key --key release-key"},
               "Keep it apart from the servers: who has it decides what runs "
               "as root on machines.");
  c->callback(
      [&ctx, out, existing] { show_or_make_key(ctx, *out, *existing); });
}

}  // namespace bc::cli
