#pragma once

#include "daemon/config.hpp"
#include "daemon/doctor.hpp"
#include "daemon/identity_store.hpp"
#include "daemon/tpm/machine_tpm.hpp"

#include <optional>
#include <string>
#include <vector>

/// The doctor's look at the machine's TPM: `tpm`, `tpm-ek` and `tpm-ak`, and,
/// with `[helper]`, `tpm-helper`.
namespace bc::daemon {

/// What a look at `bcd helper` found.
struct helper_look {
  std::string no_user = {};  // why its user cannot be one; empty: it can
  std::string ak = {};       // what it derives; empty: see no_ak
  std::string no_ak = {};
  std::string no_hardware = {};  // why it gives no identifiers; empty: it does
};

/// What a look at the TPM found; each part that failed says why.
struct tpm_look {
  bool is_there = false;
  std::string closed = {};  // why it does not open or answer; empty: it does
  tpm::tpm_facts facts = {};
  std::optional<tpm::chosen_ek> ek = {};
  std::string no_ek = {};
  std::string ak = {};  // its statement
  std::string no_ak = {};
  std::optional<helper_look> helper = {};  // nullopt: there is no [helper]
};

/// Opens the TPM as configured, beside a running daemon or helper. `recorded`:
/// the EK kind of identity.json.
[[nodiscard]] tpm_look look_at_tpm(const config& c,
                                   const std::string& recorded);

/// What it means for this machine: `me` is null for one that has not joined.
[[nodiscard]] std::vector<finding> judge_tpm(const config& c,
                                             const node_identity* me,
                                             const tpm_look& look);

}  // namespace bc::daemon
