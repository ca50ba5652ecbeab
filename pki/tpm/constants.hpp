#pragma once

#include <cstdint>

/// Numbers of the TPM 2.0 library, part 2 (the names are the specification's).
namespace bc::pki::tpm {

/// TPM_ALG_ID.
namespace alg {
inline constexpr std::uint16_t rsa = 0x0001;
inline constexpr std::uint16_t sha1 = 0x0004;
inline constexpr std::uint16_t hmac = 0x0005;
inline constexpr std::uint16_t aes = 0x0006;
inline constexpr std::uint16_t mgf1 = 0x0007;
inline constexpr std::uint16_t keyed_hash = 0x0008;
inline constexpr std::uint16_t xor_cipher = 0x000a;
inline constexpr std::uint16_t sha256 = 0x000b;
inline constexpr std::uint16_t sha384 = 0x000c;
inline constexpr std::uint16_t sha512 = 0x000d;
inline constexpr std::uint16_t null = 0x0010;
inline constexpr std::uint16_t sm4 = 0x0013;
inline constexpr std::uint16_t rsassa = 0x0014;
inline constexpr std::uint16_t rsaes = 0x0015;
inline constexpr std::uint16_t rsapss = 0x0016;
inline constexpr std::uint16_t oaep = 0x0017;
inline constexpr std::uint16_t ecdsa = 0x0018;
inline constexpr std::uint16_t ecdh = 0x0019;
inline constexpr std::uint16_t ecdaa = 0x001a;
inline constexpr std::uint16_t sm2 = 0x001b;
inline constexpr std::uint16_t ecschnorr = 0x001c;
inline constexpr std::uint16_t ecmqv = 0x001d;
inline constexpr std::uint16_t kdf1_sp800_56a = 0x0020;
inline constexpr std::uint16_t kdf2 = 0x0021;
inline constexpr std::uint16_t kdf1_sp800_108 = 0x0022;
inline constexpr std::uint16_t ecc = 0x0023;
inline constexpr std::uint16_t sym_cipher = 0x0025;
inline constexpr std::uint16_t camellia = 0x0026;
inline constexpr std::uint16_t cfb = 0x0043;
}  // namespace alg

/// TPM_ECC_CURVE.
namespace curve {
inline constexpr std::uint16_t p256 = 0x0003;
inline constexpr std::uint16_t p384 = 0x0004;
}  // namespace curve

/// TPMA_OBJECT.
namespace attribute {
inline constexpr std::uint32_t fixed_tpm = 1u << 1;
inline constexpr std::uint32_t st_clear = 1u << 2;
inline constexpr std::uint32_t fixed_parent = 1u << 4;
inline constexpr std::uint32_t sensitive_data_origin = 1u << 5;
inline constexpr std::uint32_t user_with_auth = 1u << 6;
inline constexpr std::uint32_t admin_with_policy = 1u << 7;
inline constexpr std::uint32_t firmware_limited = 1u << 8;
inline constexpr std::uint32_t svn_limited = 1u << 9;
inline constexpr std::uint32_t no_da = 1u << 10;
inline constexpr std::uint32_t encrypted_duplication = 1u << 11;
inline constexpr std::uint32_t restricted = 1u << 16;
inline constexpr std::uint32_t decrypt = 1u << 17;
inline constexpr std::uint32_t sign = 1u << 18;
inline constexpr std::uint32_t x509_sign = 1u << 19;
/// Every bit with a meaning; a TPM refuses the others.
inline constexpr std::uint32_t defined =
    fixed_tpm | st_clear | fixed_parent | sensitive_data_origin |
    user_with_auth | admin_with_policy | firmware_limited | svn_limited |
    no_da | encrypted_duplication | restricted | decrypt | sign | x509_sign;
}  // namespace attribute

/// TPM_GENERATED_VALUE: what a restricted key signs nothing else with.
inline constexpr std::uint32_t generated = 0xff544347;
/// TPM_ST_ATTEST_CERTIFY.
inline constexpr std::uint16_t attest_certify = 0x8017;

/// TPM_RH: the hierarchies that outlive a reset.
namespace hierarchy {
inline constexpr std::uint32_t owner = 0x40000001;
inline constexpr std::uint32_t endorsement = 0x4000000b;
}  // namespace hierarchy

}  // namespace bc::pki::tpm
