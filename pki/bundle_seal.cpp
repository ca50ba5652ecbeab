#include "base/encoding.hpp"
#include "base/json.hpp"
#include "pki/aead.hpp"
#include "pki/bundle.hpp"
#include "pki/digest.hpp"
#include "pki/ossl.hpp"
#include "pki/spiffe.hpp"

#include <openssl/kdf.h>

#include <algorithm>
#include <utility>

/// A key bundle as it is kept: JSON, sealed with the deployment's secret.
namespace bc::pki {

namespace {

constexpr std::string_view form = "better-compute-key-bundle-v1";
constexpr std::uint64_t cost = 1U << 15;
constexpr std::uint64_t block_size = 8;
constexpr std::uint64_t parallelism = 1;
// 128 * N * r bytes and some; OpenSSL's own limit is a little below it.
constexpr std::uint64_t max_memory = 64U << 20;
constexpr std::size_t salt_size = 16;
constexpr std::size_t max_plaintext = 32 * 1024;

fault damaged(std::string why) {
  return fail(errc::invalid_config, "the key bundle is damaged: " + why);
}

result<void> check_secret(const secret_bytes& secret) {
  if (secret.size() < 16)
    return fail(errc::invalid_config,
                "BETTER_COMPUTE_SECRET must be at least 16 bytes");
  return ok();
}

secret_bytes stretch(const secret_bytes& secret, byte_view salt) {
  bytes out(aead::key_size);
  ossl::must(
      EVP_PBE_scrypt(secret.expose_text().data(), secret.size(), salt.data(),
                     salt.size(), cost, block_size, parallelism, max_memory,
                     out.data(), out.size()) == 1,
      "scrypt failed");
  return secret_bytes{std::move(out)};
}

// Writes the plaintext into one buffer that is wiped; json::writer would leave
// copies of the keys behind. Every value is PEM, a trust domain or a time, in
// which the line feed alone needs an escape.
class secret_writer {
 public:
  secret_writer() { out_.reserve(max_plaintext); }
  void field(std::string_view name, std::string_view value) {
    put(out_.empty() ? "{\"" : ",\"");
    put(name);
    put("\":\"");
    for (char c : value)
      c == '\n' ? put("\\n") : put({&c, 1});
    put("\"");
  }
  [[nodiscard]] secret_bytes finish() && {
    put("}");
    return secret_bytes{std::move(out_)};
  }

 private:
  void put(std::string_view text) {
    ossl::must(out_.size() + text.size() <= out_.capacity(),
               "a key bundle is over 32 KiB");
    out_.insert(out_.end(), text.begin(), text.end());
  }
  bytes out_;
};

void add_key(secret_writer& out, std::string_view name,
             const private_key& key) {
  out.field(name, key.pkcs8_pem().expose_text());
}

void add_issuer(secret_writer& out, const std::string& name,
                const issuer& one) {
  add_key(out, name + "Key", one.key);
  out.field(name + "Certificate", certificate_pem(one.certificate));
}

std::string_view phase_text(other_key::phase p) {
  return p == other_key::phase::prepared ? "prepared" : "retiring";
}

void add_others(secret_writer& out, const key_bundle& bundle) {
  for (const auto& [name, other] : bundle.others) {
    auto prefix = std::string{key_text(name)} + "-other";
    out.field(prefix + "Phase", phase_text(other.what));
    out.field(prefix + "Since", to_rfc3339(other.since));
    add_key(out, prefix + "Key", other.key);
    if (!other.certificate.empty())
      out.field(prefix + "Certificate", certificate_pem(other.certificate));
  }
  std::string past;
  for (const auto& key : bundle.past_journal_keys)
    past += (past.empty() ? "" : " ") + to_base64(key);
  if (!past.empty())
    out.field("pastJournalKeys", past);
}

// The parsed plaintext; its strings are wiped with it.
class secret_document {
 public:
  explicit secret_document(json::document&& d) : document_(std::move(d)) {}
  secret_document(const secret_document&) = delete;
  secret_document& operator=(const secret_document&) = delete;
  ~secret_document() {
    for (auto& member : document_.GetObject())
      if (member.value.IsString())
        wipe(const_cast<char*>(member.value.GetString()),
             member.value.GetStringLength());
  }

  [[nodiscard]] result<std::string_view> text(const std::string& name) const {
    auto found = document_.FindMember(name.c_str());
    if (found == document_.MemberEnd() || !found->value.IsString())
      return damaged("it has no " + name);
    return std::string_view{found->value.GetString(),
                            found->value.GetStringLength()};
  }

  [[nodiscard]] bool has(const std::string& name) const {
    return document_.HasMember(name.c_str());
  }

  [[nodiscard]] result<private_key> key(const std::string& name) const {
    BC_TRY(pem, text(name));
    auto key = private_key::from_pkcs8_pem(pem);
    if (!key)
      return damaged(name + " is not a key");
    return std::move(key.value());
  }

  [[nodiscard]] result<issuer> pair(const std::string& name, bool ca) const {
    BC_TRY(own_key, key(name + "Key"));
    BC_TRY(pem, text(name + "Certificate"));
    auto der = certificate_from_pem(pem);
    if (!der)
      return damaged(name + "Certificate is not a certificate");
    auto view = parse_certificate(der.value());
    if (!view || view.value().key != own_key.pub() || view.value().is_ca != ca)
      return damaged(name + "Certificate is not the key's");
    return issuer{std::move(own_key), std::move(der.value())};
  }

 private:
  json::document document_;
};

bool is_ca(key_name k) {
  return k == key_name::node_ca || k == key_name::serving_ca ||
         k == key_name::internal_ca;
}
bool has_certificate(key_name k) {
  return is_ca(k) || k == key_name::join_signing;
}

result<other_key> read_other(const secret_document& in, key_name name) {
  auto prefix = std::string{key_text(name)} + "-other";
  BC_TRY(phase, in.text(prefix + "Phase"));
  BC_TRY(since_text, in.text(prefix + "Since"));
  auto since = from_rfc3339(since_text);
  if (!since || (phase != "prepared" && phase != "retiring"))
    return damaged("the rotation of its " + std::string{key_text(name)} +
                   " is not one");
  auto what = phase == "prepared" ? other_key::phase::prepared
                                  : other_key::phase::retiring;
  if (!has_certificate(name)) {
    BC_TRY(own_key, in.key(prefix + "Key"));
    return other_key{what, since.value(), std::move(own_key), {}};
  }
  BC_TRY(pair, in.pair(prefix, is_ca(name)));
  return other_key{what, since.value(), std::move(pair.key),
                   std::move(pair.certificate)};
}

result<void> read_others(const secret_document& in, key_bundle& out) {
  for (auto name : every_key) {
    if (!in.has(std::string{key_text(name)} + "-otherPhase"))
      continue;
    BC_TRY(other, read_other(in, name));
    out.others.emplace(name, std::move(other));
  }
  if (!in.has("pastJournalKeys"))
    return ok();
  BC_TRY(past, in.text("pastJournalKeys"));
  while (!past.empty()) {
    auto one = past.substr(0, past.find(' '));
    past.remove_prefix(std::min(past.size(), one.size() + 1));
    auto der = from_base64(one);
    if (!der || !public_key::from_spki(der.value()))
      return damaged("a past journal key is not one");
    out.past_journal_keys.push_back(std::move(der).value());
  }
  return ok();
}

struct envelope {
  bytes salt;
  bytes iv;
  bytes ciphertext;
  bytes tag;
};

result<envelope> read_envelope(std::string_view sealed) {
  auto document = json::parse_object(sealed);
  if (!document)
    return damaged("it is not a JSON object");
  json::reader in{document.value()};
  auto is_text = [&](std::string_view name, std::string_view expected) {
    auto found = in.text(name);
    return found && found.value() == expected;
  };
  auto is_number = [&](std::string_view name, std::uint64_t expected) {
    auto found = in.integer(name);
    return found && found.value() == static_cast<std::int64_t>(expected);
  };
  // Numbers of an attacker's choice would be a way to use up memory.
  if (!is_text("form", form) || !is_text("kdf", "scrypt") ||
      !is_number("n", cost) || !is_number("r", block_size) ||
      !is_number("p", parallelism) || !is_text("cipher", "AES-256-GCM"))
    return fail(errc::invalid_config,
                "the key bundle has a form this version does not know");
  auto salt = in.base64("salt"), iv = in.base64("iv"),
       ciphertext = in.base64("ciphertext"), tag = in.base64("tag");
  if (!salt || !iv || !ciphertext || !tag || salt.value().size() != salt_size ||
      iv.value().size() != aead::iv_size ||
      tag.value().size() != aead::tag_size || ciphertext.value().empty())
    return damaged("its parts do not have the right sizes");
  return envelope{std::move(salt.value()), std::move(iv.value()),
                  std::move(ciphertext.value()), std::move(tag.value())};
}

result<key_bundle> read_plaintext(std::string_view text) {
  auto document = json::parse_object(text);
  if (!document)
    return damaged("what it holds is not a JSON object");
  secret_document in{std::move(document.value())};
  BC_TRY(domain, in.text("trustDomain"));
  BC_TRY(created, in.text("createdAt"));
  auto trust_domain = parse_trust_domain(domain);
  auto created_at = from_rfc3339(created);
  if (!trust_domain || !created_at)
    return damaged("its trust domain or time is not one");
  BC_TRY(node_ca, in.pair("nodeCa", true));
  BC_TRY(serving_ca, in.pair("servingCa", true));
  BC_TRY(internal_ca, in.pair("internalCa", true));
  BC_TRY(join_signing, in.pair("joinSigning", false));
  BC_TRY(join_encryption, in.key("joinEncryptionKey"));
  BC_TRY(command_signing, in.key("commandSigningKey"));
  BC_TRY(journal_checkpoint, in.key("journalCheckpointKey"));
  key_bundle out{std::move(trust_domain.value()),
                 created_at.value(),
                 std::move(node_ca),
                 std::move(serving_ca),
                 std::move(internal_ca),
                 std::move(join_signing),
                 std::move(join_encryption),
                 std::move(command_signing),
                 std::move(journal_checkpoint)};
  BC_TRYV(read_others(in, out));
  return out;
}

}  // namespace

result<std::string> seal_bundle(const key_bundle& bundle,
                                const secret_bytes& secret) {
  BC_TRYV(check_secret(secret));
  secret_writer plain;
  plain.field("trustDomain", bundle.trust_domain);
  plain.field("createdAt", to_rfc3339(bundle.created_at));
  add_issuer(plain, "nodeCa", bundle.node_ca);
  add_issuer(plain, "servingCa", bundle.serving_ca);
  add_issuer(plain, "internalCa", bundle.internal_ca);
  add_issuer(plain, "joinSigning", bundle.join_signing);
  add_key(plain, "joinEncryptionKey", bundle.join_encryption);
  add_key(plain, "commandSigningKey", bundle.command_signing);
  add_key(plain, "journalCheckpointKey", bundle.journal_checkpoint);
  add_others(plain, bundle);
  auto plaintext = std::move(plain).finish();
  auto salt = random_bytes(salt_size), iv = random_bytes(aead::iv_size);
  auto key = stretch(secret, salt);
  auto sealed =
      aead::seal(key.expose(), iv, as_bytes(form), plaintext.expose());
  json::writer out;
  out.begin_object()
      .field("form", form)
      .field("kdf", "scrypt")
      .field("n", cost)
      .field("r", block_size)
      .field("p", parallelism)
      .field("salt", to_base64(salt))
      .field("cipher", "AES-256-GCM")
      .field("iv", to_base64(iv))
      .field("ciphertext", to_base64(sealed.ciphertext))
      .field("tag", to_base64(sealed.tag))
      .end_object();
  return out.str();
}

result<std::shared_ptr<const key_bundle>> open_bundle(
    std::string_view sealed, const secret_bytes& secret) {
  BC_TRYV(check_secret(secret));
  BC_TRY(parts, read_envelope(sealed));
  auto key = stretch(secret, parts.salt);
  auto plain = aead::open(key.expose(), parts.iv, as_bytes(form),
                          parts.ciphertext, parts.tag);
  if (!plain)
    return fail(errc::invalid_config,
                "BETTER_COMPUTE_SECRET does not open the key bundle");
  BC_TRY(bundle, read_plaintext(plain->expose_text()));
  return std::make_shared<const key_bundle>(std::move(bundle));
}

}  // namespace bc::pki
