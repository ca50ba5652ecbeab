#include "events/node.hpp"

namespace bc::events::node {

namespace {

void apply(state& s, const joined& j) {
  s.node = j;
  s.current = status::adopting;
  s.generation = j.cert.generation;
  s.certificates = {j.cert};
}

void apply(state& s, const adopted&) {
  if (s.node && s.current == status::adopting)
    s.current = status::adopted;
}

}  // namespace

std::string_view status_text(status s) noexcept {
  switch (s) {
    case status::adopting:
      return "adopting";
    case status::adopted:
      return "adopted";
    case status::cordoned:
      return "cordoned";
    case status::retired:
      return "retired";
  }
  return {};
}

state evolve(state s, const event& e) {
  ++s.version;
  std::visit([&s](const auto& what) { apply(s, what); }, e);
  return s;
}

std::string hardware_claim(std::string_view key) {
  return "hw:" + std::string{key};
}

std::string answer_claim(std::string_view subject,
                         std::string_view csr_sha256_hex) {
  return "answer:" + std::string{subject} + ":" + std::string{csr_sha256_hex};
}

std::string spki_claim(std::string_view spki_sha256_hex) {
  return "spki:" + std::string{spki_sha256_hex};
}

result<std::vector<event>> decide(const state& s, const adopt& c) {
  if (!s.node)
    return fail(errc::not_found, "No such node");
  switch (s.current) {
    case status::adopting:
      return std::vector<event>{adopted{s.node->id, c.now}};
    case status::adopted:
      return std::vector<event>{};
    case status::cordoned:
    case status::retired:
      break;
  }
  return fail(errc::invalid_state, "The node is " +
                                       std::string{status_text(s.current)} +
                                       " and cannot be adopted");
}

}  // namespace bc::events::node
