#include "events/kafka/properties.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <sys/stat.h>

namespace bc::events::kafka {

namespace {

constexpr std::array ours = {
    "acks",
    "request.required.acks",
    "allow.auto.create.topics",
    "auto.offset.reset",
    "enable.auto.commit",
    "enable.gapless.guarantee",
    "enable.idempotence",
    "enable.partition.eof",
    "group.id",
    "isolation.level",
    "partitioner",
    "transactional.id",
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blank = " \t\r";
  auto first = text.find_first_not_of(blank);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blank) - first + 1);
}

}  // namespace

result<void> check_properties(const properties& given) {
  for (const std::string name : ours)
    if (given.contains(name))
      return fail(errc::invalid_config, "Kafka property " + name +
                                            " is not to be set: what "
                                            "subscribers are promised rests "
                                            "on it");
  if (auto it = given.find("bootstrap.servers");
      it == given.end() || it->second.empty())
    return fail(errc::invalid_config,
                "Kafka property bootstrap.servers is missing");
  return ok();
}

result<properties> read_properties(const std::string& path) {
  struct stat info {};
  std::ifstream file{path};
  if (!file || ::stat(path.c_str(), &info) != 0)
    return fail(errc::invalid_config,
                path + " cannot be read: " + std::strerror(errno));
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return fail(errc::invalid_config,
                path +
                    " may hold passwords: let its owner alone read it "
                    "(chmod 600)");
  properties out;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    auto text = trimmed(line);
    if (text.empty() || text.front() == '#')
      continue;
    auto equals = text.find('=');
    auto name = std::string{trimmed(text.substr(0, equals))};
    // The line is not repeated: it may be a password.
    if (equals == std::string_view::npos || name.empty())
      return fail(errc::invalid_config, path + ":" + std::to_string(number) +
                                            ": not of the form name = value");
    if (!out.emplace(name, trimmed(text.substr(equals + 1))).second)
      return fail(errc::invalid_config, path + ":" + std::to_string(number) +
                                            ": " + name + " is given twice");
  }
  return out;
}

}  // namespace bc::events::kafka
