#include "pki/tpm/structures.hpp"

#include "pki/tpm/cursor.hpp"

namespace bc::pki::tpm {

namespace {

// What follows an algorithm's number in a scheme.
enum class details { none, hash, hash_and_count, hash_and_kdf, unknown };

details of_rsa_scheme(std::uint16_t algorithm) {
  switch (algorithm) {
    case alg::null:
    case alg::rsaes:
      return details::none;
    case alg::rsassa:
    case alg::rsapss:
    case alg::oaep:
      return details::hash;
    default:
      return details::unknown;
  }
}

details of_ecc_scheme(std::uint16_t algorithm) {
  switch (algorithm) {
    case alg::null:
      return details::none;
    case alg::ecdsa:
    case alg::ecdh:
    case alg::sm2:
    case alg::ecschnorr:
    case alg::ecmqv:
      return details::hash;
    case alg::ecdaa:
      return details::hash_and_count;
    default:
      return details::unknown;
  }
}

details of_kdf_scheme(std::uint16_t algorithm) {
  switch (algorithm) {
    case alg::null:
      return details::none;
    case alg::mgf1:
    case alg::kdf1_sp800_56a:
    case alg::kdf2:
    case alg::kdf1_sp800_108:
      return details::hash;
    default:
      return details::unknown;
  }
}

details of_keyed_hash_scheme(std::uint16_t algorithm) {
  switch (algorithm) {
    case alg::null:
      return details::none;
    case alg::hmac:
      return details::hash;
    case alg::xor_cipher:
      return details::hash_and_kdf;
    default:
      return details::unknown;
  }
}

using details_of = details (*)(std::uint16_t);

scheme read_scheme(cursor& in, details_of which) {
  scheme out{in.u16()};
  switch (which(out.algorithm)) {
    case details::none:
      break;
    case details::hash:
      out.hash = in.u16();
      break;
    case details::hash_and_count:
    case details::hash_and_kdf:
      out.hash = in.u16();
      out.extra = in.u16();
      break;
    case details::unknown:
      in.fail();
  }
  return out;
}

void write_scheme(bytes& out, const scheme& s, details_of which) {
  put_number(out, s.algorithm, 2);
  auto d = which(s.algorithm);
  if (d == details::none)
    return;
  put_number(out, s.hash, 2);
  if (d == details::hash_and_count || d == details::hash_and_kdf)
    put_number(out, s.extra, 2);
}

symmetric read_symmetric(cursor& in) {
  symmetric out{in.u16()};
  switch (out.algorithm) {
    case alg::null:
      break;
    case alg::aes:
    case alg::sm4:
    case alg::camellia:
      out.bits = in.u16();
      out.mode = in.u16();
      break;
    default:
      in.fail();
  }
  return out;
}

void write_symmetric(bytes& out, const symmetric& s) {
  put_number(out, s.algorithm, 2);
  if (s.algorithm == alg::null)
    return;
  put_number(out, s.bits, 2);
  put_number(out, s.mode, 2);
}

rsa_parameters read_rsa(cursor& in) {
  rsa_parameters out;
  out.symmetric = read_symmetric(in);
  out.scheme = read_scheme(in, of_rsa_scheme);
  out.bits = in.u16();
  out.exponent = in.u32();
  out.modulus = in.sized();
  if (out.modulus.size() > max_rsa_bits / 8 || out.bits > max_rsa_bits)
    in.fail();
  return out;
}

ecc_parameters read_ecc(cursor& in) {
  ecc_parameters out;
  out.symmetric = read_symmetric(in);
  out.scheme = read_scheme(in, of_ecc_scheme);
  out.curve = in.u16();
  out.kdf = read_scheme(in, of_kdf_scheme);
  out.x = in.sized();
  out.y = in.sized();
  return out;
}

secret_key_parameters read_secret_key(cursor& in, std::uint16_t type) {
  secret_key_parameters out;
  if (type == alg::keyed_hash)
    out.scheme = read_scheme(in, of_keyed_hash_scheme);
  else
    out.symmetric = read_symmetric(in);
  out.unique = in.sized();
  return out;
}

constexpr std::size_t clock_info_size = 17;

}  // namespace

std::optional<public_area> parse_public(byte_view whole) {
  if (whole.size() > max_public_size)
    return std::nullopt;
  cursor in{whole};
  public_area out;
  out.type = in.u16();
  out.name_alg = in.u16();
  out.attributes = in.u32();
  if ((out.attributes & ~attribute::defined) != 0)
    return std::nullopt;
  out.auth_policy = in.sized();
  switch (out.type) {
    case alg::rsa:
      out.parameters = read_rsa(in);
      break;
    case alg::ecc:
      out.parameters = read_ecc(in);
      break;
    case alg::keyed_hash:
    case alg::sym_cipher:
      out.parameters = read_secret_key(in, out.type);
      break;
    default:
      return std::nullopt;
  }
  if (!in.done())
    return std::nullopt;
  return out;
}

bytes encode(const public_area& p) {
  bytes out;
  put_number(out, p.type, 2);
  put_number(out, p.name_alg, 2);
  put_number(out, p.attributes, 4);
  put_sized(out, p.auth_policy);
  if (const auto* rsa = p.rsa()) {
    write_symmetric(out, rsa->symmetric);
    write_scheme(out, rsa->scheme, of_rsa_scheme);
    put_number(out, rsa->bits, 2);
    put_number(out, rsa->exponent, 4);
    put_sized(out, rsa->modulus);
  } else if (const auto* ecc = p.ecc()) {
    write_symmetric(out, ecc->symmetric);
    write_scheme(out, ecc->scheme, of_ecc_scheme);
    put_number(out, ecc->curve, 2);
    write_scheme(out, ecc->kdf, of_kdf_scheme);
    put_sized(out, ecc->x);
    put_sized(out, ecc->y);
  } else if (const auto* other =
                 std::get_if<secret_key_parameters>(&p.parameters)) {
    if (p.type == alg::keyed_hash)
      write_scheme(out, other->scheme, of_keyed_hash_scheme);
    else
      write_symmetric(out, other->symmetric);
    put_sized(out, other->unique);
  }
  return out;
}

std::optional<attest> parse_attest(byte_view whole) {
  if (whole.size() > max_attest_size)
    return std::nullopt;
  cursor in{whole};
  attest out;
  out.magic = in.u32();
  out.type = in.u16();
  out.qualified_signer = in.sized();
  out.extra_data = in.sized();
  out.clock_info = to_bytes(in.take(clock_info_size));
  out.firmware_version = in.number(8);
  if (out.type == attest_certify) {
    out.name = in.sized();
    out.qualified_name = in.sized();
  } else {
    out.other = in.rest();
  }
  if (!in.done())
    return std::nullopt;
  return out;
}

bytes encode(const attest& a) {
  bytes out;
  put_number(out, a.magic, 4);
  put_number(out, a.type, 2);
  put_sized(out, a.qualified_signer);
  put_sized(out, a.extra_data);
  put(out, a.clock_info);
  put_number(out, a.firmware_version, 8);
  if (a.type == attest_certify) {
    put_sized(out, a.name);
    put_sized(out, a.qualified_name);
  } else {
    put(out, a.other);
  }
  return out;
}

namespace {

enum class signature_form { none, rsa, curve, hmac, unknown };

signature_form form_of(std::uint16_t algorithm) {
  switch (algorithm) {
    case alg::null:
      return signature_form::none;
    case alg::rsassa:
    case alg::rsapss:
      return signature_form::rsa;
    case alg::ecdsa:
    case alg::ecdaa:
    case alg::sm2:
    case alg::ecschnorr:
      return signature_form::curve;
    case alg::hmac:
      return signature_form::hmac;
    default:
      return signature_form::unknown;
  }
}

// TPMT_HA has no length: the hash says it.
std::size_t digest_size_of(std::uint16_t hash) {
  switch (hash) {
    case alg::sha1:
      return 20;
    case alg::sha256:
      return 32;
    case alg::sha384:
      return 48;
    case alg::sha512:
      return 64;
    default:
      return 0;
  }
}

}  // namespace

std::optional<signature> parse_signature(byte_view whole) {
  if (whole.size() > max_signature_size)
    return std::nullopt;
  cursor in{whole};
  signature out;
  out.algorithm = in.u16();
  auto form = form_of(out.algorithm);
  if (form != signature_form::none)
    out.hash = in.u16();
  switch (form) {
    case signature_form::none:
      break;
    case signature_form::rsa:
      out.rsa = in.sized();
      break;
    case signature_form::curve:
      out.r = in.sized();
      out.s = in.sized();
      break;
    case signature_form::hmac:
      out.digest = to_bytes(in.take(digest_size_of(out.hash)));
      break;
    case signature_form::unknown:
      return std::nullopt;
  }
  if (!in.done())
    return std::nullopt;
  return out;
}

bytes encode(const signature& s) {
  bytes out;
  put_number(out, s.algorithm, 2);
  auto form = form_of(s.algorithm);
  if (form != signature_form::none)
    put_number(out, s.hash, 2);
  if (form == signature_form::rsa) {
    put_sized(out, s.rsa);
  } else if (form == signature_form::curve) {
    put_sized(out, s.r);
    put_sized(out, s.s);
  } else if (form == signature_form::hmac) {
    put(out, s.digest);
  }
  return out;
}

}  // namespace bc::pki::tpm
