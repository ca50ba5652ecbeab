#include "ops/cli/gateway_files.hpp"

#include "ops/cli/files.hpp"
#include "pki/internal.hpp"

#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace bc::cli {

namespace {

gateway_file public_file(std::string name, std::string role,
                         std::string purpose, const std::string& pem) {
  return {std::move(name), std::move(role), std::move(purpose), false,
          secret_bytes{std::string_view{pem}}};
}

result<void> write(const std::string& path, const gateway_file& f) {
  BC_TRYV(write_new_secret_file(path, f.content.expose_text()));
  if (!f.secret && ::chmod(path.c_str(), 0644) != 0)
    return fail(errc::unavailable,
                "cannot open " + path + " to others: " + std::strerror(errno));
  return ok();
}

// While a key rotates, who holds a certificate of either is let in.
std::string all_certificates(const pki::key_bundle& keys, pki::key_name which) {
  return pki::certificates_pem(pki::certificates_of(keys, which));
}

}  // namespace

result<std::vector<gateway_file>> make_gateway_files(
    const pki::key_bundle& keys, const std::vector<std::string>& names,
    time_point now) {
  BC_TRY(serving, pki::issue_server_certificate(keys.serving_ca, names, now));
  BC_TRY(internal,
         pki::issue_internal_certificate(
             keys.internal_ca, pki::internal_role::gateway, names, now));
  std::vector<gateway_file> out;
  out.push_back(
      public_file("serving.crt", "servingCertificateFile",
                  "what machines are shown, and its CA",
                  pki::certificate_pem(serving.certificate) +
                      pki::certificate_pem(keys.serving_ca.certificate)));
  out.push_back({"serving.key", "servingKeyFile", "its private key", true,
                 serving.key.pkcs8_pem()});
  out.push_back(public_file("internal.crt", "internalCertificateFile",
                            "what API processes are shown (90 days)",
                            pki::certificate_pem(internal.certificate)));
  out.push_back({"internal.key", "internalKeyFile", "its private key", true,
                 internal.key.pkcs8_pem()});
  out.push_back(public_file(
      "internal-ca.crt", "internalCaFile", "what API processes are checked by",
      all_certificates(keys, pki::key_name::internal_ca)));
  out.push_back(public_file("node-ca.crt", "nodeCaFile",
                            "what nodes are checked by",
                            all_certificates(keys, pki::key_name::node_ca)));
  return out;
}

result<void> write_gateway_files(const std::string& folder,
                                 const std::vector<gateway_file>& files) {
  if (::mkdir(folder.c_str(), 0700) != 0)
    return errno == EEXIST
               ? fail(errc::already_exists,
                      folder +
                          " exists; choose a new folder, nothing was "
                          "written")
               : fail(errc::invalid_config, "cannot make the folder " + folder +
                                                ": " + std::strerror(errno));
  result<void> done = ok();
  for (const auto& f : files)
    if (done)
      done = write(folder + "/" + f.name, f);
  if (done)
    return ok();
  for (const auto& f : files)
    ::unlink((folder + "/" + f.name).c_str());
  ::rmdir(folder.c_str());
  return done;
}

}  // namespace bc::cli
