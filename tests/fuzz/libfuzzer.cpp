#include "tests/fuzz/targets.hpp"

// Compiled once for each target, with its name in BC_FUZZ_TARGET.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  bc::fuzz::BC_FUZZ_TARGET({data, size});
  return 0;
}
