#include "base/text.hpp"
#include "daemon/hardware.hpp"
#include "daemon/kernel_files.hpp"

#include <sstream>

namespace bc::daemon {

namespace {

// A share of a GPU that a hypervisor gives to a guest, named by its profile:
// "NVIDIA A40-8Q", "GRID A100-1-5CME". It comes and goes with the guest.
bool is_share(std::string_view model) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::string_view profiles = "ABCQ";
  constexpr std::string_view media = "ME";
  if (model.ends_with(media))
    model.remove_suffix(media.size());
  auto dash = model.rfind('-');
  if (dash == std::string_view::npos || model.size() < dash + 3)
    return false;
  auto size = model.substr(dash + 1, model.size() - dash - 2);
  return profiles.find(model.back()) != std::string_view::npos &&
         size.find_first_not_of(digits) == std::string_view::npos;
}

// Question marks until the driver has read it.
bool is_known(std::string_view uuid) {
  return uuid.starts_with("GPU-") && uuid.find('?') == std::string_view::npos;
}

}  // namespace

std::optional<std::string> gpu_uuid_in(std::string_view information) {
  std::string model, uuid;
  std::istringstream lines{std::string{information}};
  for (std::string line; std::getline(lines, line);) {
    auto colon = line.find(':');
    if (colon == std::string::npos)
      continue;
    auto name = trimmed(std::string_view{line}.substr(0, colon));
    auto value = trimmed(std::string_view{line}.substr(colon + 1));
    if (name == "Model")
      model = value;
    else if (name == "GPU UUID")
      uuid = value;
  }
  if (!is_known(uuid) || is_share(model))
    return std::nullopt;
  return uuid;
}

result<std::vector<std::string>> gpu_uuids(
    const std::filesystem::path& folder) {
  BC_TRY(names, names_in(folder));
  std::vector<std::string> out;
  for (const auto& name : names) {
    BC_TRY(information, read_kernel_file(folder / name / "information"));
    if (auto uuid = gpu_uuid_in(information.value_or("")))
      out.push_back(std::move(*uuid));
  }
  return out;
}

}  // namespace bc::daemon
