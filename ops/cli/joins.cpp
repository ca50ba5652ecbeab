#include "ops/cli/api_groups.hpp"

namespace bc::cli {

namespace {

std::string check_claims(const std::set<std::string>& fields) {
  for (const auto& field : fields)
    if (field.starts_with("claims"))
      return {};
  return "what the machine says of itself is required: --claims FILE, or its "
         "flags (--serial, --product-uuid, --mac and others)";
}

}  // namespace

api_group joins_group() {
  return {
      "joins",
      "Why a join was refused, and how one would end",
      {{"explain",
        "Tell why the joins of one machine's certificate request were refused",
        {required(text("HASH", "csrSha256",
                       "SHA-256 of the request, as `bcd join` and "
                       "security.join.refused name it"))},
        {"joins explain "
         "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
       {"simulate",
        "Judge a join by every rule, without a machine and changing nothing",
        {required(
             id("--token", "tokenId", "The token's id, jt_…; never the token")),
         object_file("--claims", "claims",
                     "File with a machine's claims, the JSON that a join "
                     "carries; the flags stand over it"),
         text("--serial", "claims.productSerial", "Its product serial"),
         text("--board-serial", "claims.boardSerial", "Its board's serial"),
         text("--chassis-serial", "claims.chassisSerial",
              "Its chassis' serial"),
         text("--product-uuid", "claims.productUuid", "Its SMBIOS UUID"),
         texts("--mac", "claims.macs", "A permanent MAC; may repeat"),
         texts("--gpu-uuid", "claims.gpuUuids", "GPU-…; may repeat"),
         text("--hostname", "claims.hostname", "Its hostname"),
         id("--site", "siteId",
            "The site its configuration names [the token's]"),
         id("--node", "nodeId", "The node it says it is to be"),
         one_of({"node", "site", "ramdisk", "node-tenant"},
                text("--role", "role",
                     "The certificate's role it asks for [the token's]")),
         text("--attestor", "attestor",
              "The attestor it joins with [join-token]")},
        {"joins simulate --token jt_01k5w3c9t8e4m2v6h0a7n1p5qd \\\n"
         "    --serial SN-7701 --mac 3c:ec:ef:12:34:56",
         "joins simulate --token jt_01k5w3c9t8e4m2v6h0a7n1p5qd --claims "
         "machine.json"},
        {},
        0,
        {},
        {},
        "Needs --claims or at least one flag of what they hold.",
        check_claims}}};
}

}  // namespace bc::cli
