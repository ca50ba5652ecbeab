#include "ops/cli/api_groups.hpp"

namespace bc::cli {

namespace {

one_time_secret token() {
  return {"token", "token",
          "this --key was used before, so its token cannot be shown again",
          "create another with another --key"};
}

argument token_id() {
  return required(id("ID", "tokenId", "The token's id, jt_…"));
}

argument ttl() {
  return required(
      lifetime("--ttl", "ttlSeconds", "Lifetime, 1m to 24h: 90s, 15m, 1h30m"));
}

argument key() {
  return required(text("--key", "idempotencyKey",
                       "Idempotency key: the same key gives the same token"));
}

argument pool(std::string help) {
  return required_or_kept(id("--pool", "poolId", std::move(help)),
                          &context::pool);
}

argument site() {
  return required(id("--site", "siteId", "The site"));
}

}  // namespace

api_group join_tokens_group() {
  return {
      "join-tokens",
      "Create, list and revoke join tokens",
      {{"create",
        "Mint a join token for a pool",
        {pool("The pool machines join [the profile's]"), ttl(),
         number("--max-uses", "maxUses", 1, 10'000,
                "How many machines, 1 to 10000 [1]"),
         text("--expect-serial", "expect.serial",
              "Product, board or chassis serial of the one machine"),
         text("--expect-mac", "expect.mac",
              "A permanent MAC, aa:bb:cc:dd:ee:ff"),
         text("--expect-product-uuid", "expect.productUuid", "SMBIOS UUID"),
         text("--expect-gpu-uuid", "expect.gpuUuid", "GPU-…"),
         flag("--allow-reclaim", "allowReclaim",
              "Let a known machine with a new key take its node back"),
         one_of({"kubernetes"},
                text("--hosted", "hosted",
                     "For bcd on a cluster whose admins are root on its "
                     "machines: its nodes join as tenant-controlled")),
         key()},
        {"join-tokens create --pool pool_01k5w3c9t8e4m2v6h0a7n1p5qd --ttl 1h "
         "\\\n    --expect-serial SN-7701 --key adopt-u12 --out ./join-token",
         "join-tokens create --ttl 24h --max-uses 100 --hosted kubernetes \\\n"
         "    --key cluster-7 --out ./join-token"},
        {},
        0,
        token()},
       {"list",
        "List a pool's live tokens",
        {pool("The pool [the profile's]"),
         flag("--all", "includeInactive",
              "Also used-up, expired and revoked tokens")},
        {"join-tokens list", "join-tokens list --all --utc"},
        {text_column("ID", "id"), text_column("USES LEFT", "usesLeft"),
         text_column("MAX USES", "maxUses"),
         time_column("EXPIRES", "expiresAt", tone::bad),
         when_set(time_column("REVOKED", "revokedAt", tone::bad)),
         when_set(text_column("HOSTED", "hosted")),
         when_set(free_column("EXPECT", "expect"))}},
       {"revoke",
        "Revoke a token at once",
        {token_id(), pool("The token's pool [the profile's]")},
        {"join-tokens revoke jt_01k5w3c9t8e4m2v6h0a7n1p5qd"}}}};
}

api_group site_tokens_group() {
  return {
      "site-tokens",
      "Create and revoke tokens for site agents",
      {{"create",
        "Mint a token for a site's agents",
        {site(), ttl(),
         number("--max-uses", "maxUses", 1, 16, "How many agents, 1 to 16 [1]"),
         key()},
        {"site-tokens create --site site_01k5w3c9t8e4m2v6h0a7n1p5qd \\\n"
         "    --ttl 1h --key agents-fra-1 --out ./site-token"},
        {},
        0,
        token()},
       {"revoke",
        "Revoke a site token at once",
        {token_id(), site()},
        {"site-tokens revoke jt_01k5w3c9t8e4m2v6h0a7n1p5qd \\\n"
         "    --site site_01k5w3c9t8e4m2v6h0a7n1p5qd"}}}};
}

}  // namespace bc::cli
