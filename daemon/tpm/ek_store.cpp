#include "daemon/tpm/ek_store.hpp"

#include "pki/tpm/ek_certificate.hpp"
#include "pki/tpm/templates.hpp"

namespace bc::daemon::tpm {

namespace {

constexpr handle first_index = 0x01c00000;
constexpr handle first_chain = 0x01c00100, last_chain = 0x01c001ff;

bool is_certificate_index(handle index) {
  for (const auto& kind : pki::tpm::ek_kinds)
    if (kind.certificate_index == index)
      return true;
  return false;
}

bool is_hint_index(handle index) {
  for (const auto& kind : pki::tpm::ek_kinds)
    if (index == kind.template_index || index == kind.nonce_index)
      return true;
  return false;
}

// One certificate after another, over the borders of indices.
std::vector<bytes> split_chain(byte_view all) {
  std::vector<bytes> out;
  while (out.size() < pki::tpm::max_intermediates) {
    auto one = pki::tpm::trim_certificate(all);
    if (!one || one->size() > pki::tpm::max_certificate_size)
      break;
    all = all.subspan(one->size());
    out.push_back(std::move(*one));
  }
  return out;
}

}  // namespace

result<ek_store> read_ek_store(device& d) {
  ek_store out;
  BC_TRY(most, d.most_read());
  BC_TRY(indices, d.handles(first_index));
  bytes chain;
  for (auto index : indices) {
    bool of_chain = index >= first_chain && index <= last_chain;
    if (!of_chain && !is_certificate_index(index) && !is_hint_index(index))
      continue;
    auto content = d.read_index(index, most);
    if (!content) {
      if (!is_of_index(d.last_code()))
        return std::move(content).error();
      continue;
    }
    if (of_chain) {
      chain.insert(chain.end(), content.value().begin(), content.value().end());
    } else if (is_certificate_index(index)) {
      if (auto der = pki::tpm::trim_certificate(content.value()))
        out.certificates.emplace(index, std::move(*der));
    } else {
      out.hints.emplace(index, std::move(content).value());
    }
  }
  out.chain = split_chain(chain);
  BC_TRY(persistent, d.handles(persistent_ek));
  out.has_persistent = !persistent.empty() && persistent[0] == persistent_ek;
  return out;
}

}  // namespace bc::daemon::tpm
