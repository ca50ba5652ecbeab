#pragma once

#include <string_view>

namespace bc::pki {

/// Private to this folder. True for a text that is made of the words firmware
/// vendors describe a field with, or say that it is empty with, and of nothing
/// else: "TOBEFILLEDBYOEM", "SYSTEMSERIALNUMBER", "NOTAVAILABLE". Upper-case
/// letters and digits without separators. A numbered form ("SERNUM01") counts
/// with its number; a letter left out or two in the wrong order, but for the
/// first, ("UKNOWN") do not save it, and neither does a field too short for the
/// last word.
[[nodiscard]] bool is_filler_phrase(std::string_view text);

}  // namespace bc::pki
