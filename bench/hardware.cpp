#include "bench/sections.hpp"
#include "pki/hardware_key.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace bc::bench {

namespace {

// A server as most are: filler in some fields, several NICs and GPUs, and an
// expectation to compare with.
pki::hardware_claims server(std::size_t number) {
  auto digits = std::to_string(1'000'000'000 + number).substr(1);
  pki::hardware_claims c;
  c.product_uuid = "4c4c4544-0044-3510-8052-" + digits + "a7f";
  c.product_serial = "MXQ" + digits + "  ";
  c.board_serial = "To Be Filled By O.E.M.";
  c.chassis_serial = "Not Specified";
  for (int port = 0; port < 4; ++port)
    c.macs.push_back("3C:EC:EF:" + digits.substr(0, 2) + ":" +
                     digits.substr(2, 2) + ":1" + std::to_string(port));
  for (int slot = 0; slot < 8; ++slot)
    c.gpu_uuids.push_back("GPU-5ba2c7a2-77d1-4e3c-9f6c-00" + digits + "a" +
                          std::to_string(slot));
  return c;
}

// The same as words alone, the slowest text to judge.
pki::hardware_claims filler(std::size_t number) {
  auto c = server(number);
  c.product_serial = "Unspecified Base Board Serial Number";
  c.board_serial = "To Be Filled By O.E.M. by More String";
  c.chassis_serial = "Enter Chassis Serial Number Here Please";
  return c;
}

template <class Make>
double cost_of(const Make& make, std::size_t times) {
  std::vector<pki::hardware_claims> machines;
  for (std::size_t i = 0; i < times; ++i)
    machines.push_back(make(i));
  pki::hardware_expectation expect;
  expect.serial = "MXQ000000001";
  std::size_t trusted = 0;
  auto before = cpu_seconds();
  for (const auto& m : machines) {
    auto ids = pki::normalise(m);
    trusted += pki::derive_hardware_key(ids).trusted ? 1 : 0;
    trusted += pki::matches(expect, ids) ? 1 : 0;
  }
  auto spent = cpu_seconds() - before;
  if (trusted < times)
    std::abort();
  return spent / static_cast<double>(times);
}

}  // namespace

void measure_hardware(const settings& s, const bound& b, report& out) {
  out.section("Hardware identity of one join");
  auto n = s.scaled(100'000);
  out.add_ratio("normalise, derive, compare", cost_of(server, n) * 1e6, "us",
                b.join * 1e6, "the join's cryptography");
  out.add_ratio("the same of nothing but filler", cost_of(filler, n) * 1e6,
                "us", b.join * 1e6, "the join's cryptography");
}

}  // namespace bc::bench
