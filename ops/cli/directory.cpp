#include "ops/cli/api_groups.hpp"

namespace bc::cli {

namespace {

argument site_id() {
  return required(id("ID", "siteId", "The site's id, site_…"));
}

argument pool_id() {
  return required(id("ID", "poolId", "The pool's id, pool_…"));
}

// What a pool asks of the machines that join it.
std::vector<argument> policy() {
  return {
      one_of({"join-token", "tpm", "discovery", "x509pop"},
             texts("--join-attestor", "policy.joinAttestors",
                   "Only joins that this attestor vouches for; may repeat "
                   "[all]")),
      flag("--platform-operated", "policy.kubernetes.platformOperated",
           "The platform runs the Kubernetes clusters of this pool: hosted "
           "tokens do not lower its nodes' trust"),
      texts("--acceptance-check", "policy.acceptance.checks",
            "What a node passes before it is adopted; may repeat [nothing]"),
  };
}

std::string check_policy(const std::set<std::string>& fields) {
  if (fields.count("policy") == 0)
    return {};
  for (const auto& field : fields)
    if (field.starts_with("policy."))
      return "--no-policy stands alone: it takes away what --join-attestor, "
             "--platform-operated and --acceptance-check ask";
  return {};
}

std::vector<argument> joined(std::vector<argument> first,
                             std::vector<argument> more) {
  for (auto& a : more)
    first.push_back(std::move(a));
  return first;
}

}  // namespace

api_group tenants_group() {
  return {
      "tenants",
      "Create and list tenants (root tenant's credential)",
      {{"create",
        "Create a tenant",
        {required(text("--name", "name", "Its name, unique"))},
        {"tenants create --name acme"}},
       {"list",
        "List all tenants",
        {},
        {"tenants list", "tenants list --output json"},
        {text_column("ID", "id"), free_column("NAME", "name"),
         text_column("ROOT", "root"), time_column("CREATED", "createdAt")}}}};
}

api_group sites_group() {
  return {
      "sites",
      "Create, list, change and delete sites",
      {{"create",
        "Create a site",
        {required(text("--name", "name", "Its name, unique for the tenant")),
         one_of({"shared", "dedicated", "custom"},
                text("--kind", "kind",
                     "Whose hardware: the platform's for all tenants or for "
                     "one, or the tenant's own [dedicated for the root "
                     "tenant, custom for others]")),
         id("--dedicated-to", "dedicatedTo",
            "The tenant that a dedicated site serves")},
        {"sites create --name fra-1 --kind shared",
         "sites create --name rack-b7 --kind custom"}},
       {"get",
        "Show a site",
        {site_id()},
        {"sites get site_01k5w3c9t8e4m2v6h0a7n1p5qd"}},
       {"list",
        "List the sites the tenant sees",
        {flag("--all", "includeDeleted", "Also deleted sites")},
        {"sites list", "sites list --utc"},
        {text_column("ID", "id"), free_column("NAME", "name"),
         text_column("KIND", "kind"), text_column("OWNER", "tenantId"),
         when_set(text_column("DEDICATED TO", "dedicatedTo")),
         time_column("CREATED", "createdAt"),
         when_set(time_column("DELETED", "deletedAt", tone::faint))}},
       {"update",
        "Change a site",
        {site_id(), text("--name", "name", "Its new name"),
         id("--dedicated-to", "dedicatedTo",
            "The tenant that a dedicated site serves; its owner: nobody else")},
        {"sites update site_01k5w3c9t8e4m2v6h0a7n1p5qd --name fra-2"}},
       {"delete",
        "Delete a site; nothing joins there any more",
        {site_id()},
        {"sites delete site_01k5w3c9t8e4m2v6h0a7n1p5qd --yes"},
        {},
        0,
        {},
        "Delete the site"}}};
}

api_group pools_group() {
  const auto agent = one_of(
      {"bcd", "none"},
      text("--agent", "agent", "What runs on its machines; none: no daemon"));
  return {
      "pools",
      "Create, list, change and archive pools",
      {{"create",
        "Create a pool in a site",
        joined(
            {required(id("--site", "siteId", "The site its machines stand in")),
             required(
                 text("--name", "name", "Its name, unique for the tenant")),
             agent},
            policy()),
        {"pools create --site site_01k5w3c9t8e4m2v6h0a7n1p5qd --name web",
         "pools create --site site_01k5w3c9t8e4m2v6h0a7n1p5qd --name gpu "
         "--join-attestor tpm --acceptance-check clock"}},
       {"get",
        "Show a pool",
        {pool_id()},
        {"pools get pool_01k5w3c9t8e4m2v6h0a7n1p5qd"}},
       {"list",
        "List the tenant's pools",
        {flag("--all", "includeArchived", "Also archived pools")},
        {"pools list", "pools list --all"},
        {text_column("ID", "id"), free_column("NAME", "name"),
         text_column("SITE", "siteId"), text_column("AGENT", "agent"),
         time_column("CREATED", "createdAt"),
         when_set(time_column("ARCHIVED", "archivedAt", tone::faint))}},
       {"update",
        "Change a pool; what is not given stays",
        joined({pool_id(), text("--name", "name", "Its new name"), agent,
                empty_object("--no-policy", "policy",
                             "Ask nothing of machines any more")},
               policy()),
        {"pools update pool_01k5w3c9t8e4m2v6h0a7n1p5qd --join-attestor tpm",
         "pools update pool_01k5w3c9t8e4m2v6h0a7n1p5qd --no-policy"},
        {},
        0,
        {},
        {},
        "--join-attestor, --platform-operated and --acceptance-check make one "
        "policy, which\nreplaces the whole of the old one.",
        check_policy},
       {"archive",
        "Archive a pool; no machine joins it any more",
        {pool_id()},
        {"pools archive pool_01k5w3c9t8e4m2v6h0a7n1p5qd --yes"},
        {},
        0,
        {},
        "Archive the pool"}}};
}

}  // namespace bc::cli
