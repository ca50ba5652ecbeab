#include "base/errc.hpp"

namespace bc {

std::string_view wire_text(errc code) noexcept {
  switch (code) {
#define BC_X(name, text, status) \
  case errc::name:               \
    return text;
    BC_ERRC(BC_X)
#undef BC_X
  }
  return "INTERNAL";
}

errc errc_of(std::string_view wire) noexcept {
#define BC_X(name, text, status) \
  if (wire == (text))            \
    return errc::name;
  BC_ERRC(BC_X)
#undef BC_X
  return errc::internal;
}

int http_status(errc code) noexcept {
  switch (code) {
#define BC_X(name, text, status) \
  case errc::name:               \
    return status;
    BC_ERRC(BC_X)
#undef BC_X
  }
  return 500;
}

}  // namespace bc
