#include "ops/cli/argument.hpp"

#include "base/clock.hpp"
#include "ops/cli/duration.hpp"
#include "ops/cli/files.hpp"
#include "ops/cli/options.hpp"

#include <charconv>
#include <iostream>

namespace bc::cli {

namespace {

constexpr seconds least_lifetime{60};
constexpr seconds most_lifetime{86'400};

json::value text_value(json::document& input, std::string_view text) {
  return json::value{text.data(), static_cast<rapidjson::SizeType>(text.size()),
                     input.GetAllocator()};
}

argument plain(std::string name, std::string field, std::string help) {
  argument out;
  out.name = std::move(name);
  out.field = std::move(field);
  out.help = std::move(help);
  out.check = check_text;
  return out;
}

// Puts what `read` makes of the one text.
template <class Read>
argument::putter put_one(const std::string& field, Read read) {
  return [field, read](json::document& input,
                       const std::vector<std::string>& texts) -> result<void> {
    BC_TRY(value, read(input, texts.front()));
    member_at(input, field) = std::move(value);
    return ok();
  };
}

// All of standard input, as much of it as of a file.
result<std::string> read_input() {
  constexpr std::size_t most = 1024 * 1024;
  std::string out;
  for (char c = 0; std::cin.get(c);) {
    if (out.size() == most)
      return fail(errc::invalid_input, "standard input is over 1 MiB");
    out += c;
  }
  return out;
}

fault with_name(const std::string& name, fault why) {
  why.message = name + ": " + why.message;
  return why;
}

}  // namespace

json::value& member_at(json::document& input, std::string_view field) {
  json::value* at = &input;
  while (true) {
    const auto dot = field.find('.');
    auto name = text_value(input, field.substr(0, dot));
    if (!at->IsObject())
      at->SetObject();
    if (!at->HasMember(name))
      at->AddMember(json::value{name, input.GetAllocator()}, json::value{},
                    input.GetAllocator());
    at = &at->FindMember(name)->value;
    if (dot == std::string_view::npos)
      return *at;
    field.remove_prefix(dot + 1);
  }
}

argument text(std::string name, std::string field, std::string help) {
  auto out = plain(std::move(name), std::move(field), std::move(help));
  out.put = put_one(out.field,
                    [](json::document& input,
                       const std::string& text) -> result<json::value> {
                      return text_value(input, text);
                    });
  return out;
}

argument id(std::string name, std::string field, std::string help) {
  auto out = text(std::move(name), std::move(field), std::move(help));
  out.value_name = "ID";
  out.check = [](const std::string& given) -> std::string {
    if (given.find('.') != std::string::npos)
      return "that looks like a whole token or credential; give its id alone, "
             "what stands before the dot";
    return check_text(given);
  };
  return out;
}

argument texts(std::string name, std::string field, std::string help) {
  auto out = plain(std::move(name), std::move(field), std::move(help));
  out.takes = arity::many;
  out.put = [field = out.field](
                json::document& input,
                const std::vector<std::string>& given) -> result<void> {
    auto& list = member_at(input, field).SetArray();
    for (const auto& one : given)
      list.PushBack(text_value(input, one), input.GetAllocator());
    return ok();
  };
  return out;
}

argument number(std::string name, std::string field, std::int64_t least,
                std::int64_t most, std::string help) {
  auto out = plain(std::move(name), std::move(field), std::move(help));
  out.value_name = "NUMBER";
  out.check = [least, most](const std::string& given) {
    return check_number(given, least, most);
  };
  out.put = put_one(
      out.field,
      [](json::document&, const std::string& text) -> result<json::value> {
        std::int64_t number = 0;
        std::from_chars(text.data(), text.data() + text.size(), number);
        return json::value{number};
      });
  return out;
}

argument lifetime(std::string name, std::string field, std::string help) {
  auto out = plain(std::move(name), std::move(field), std::move(help));
  out.value_name = "DURATION";
  out.put = put_one(
      out.field,
      [name = out.name](json::document&,
                        const std::string& text) -> result<json::value> {
        auto value = parse_duration(text);
        if (!value)
          return with_name(name, value.error());
        if (value.value() < least_lifetime || value.value() > most_lifetime)
          return fail(errc::invalid_input, name + " runs from 1m to 24h");
        return json::value{static_cast<std::int64_t>(value.value().count())};
      });
  return out;
}

argument moment(std::string name, std::string field, std::string help) {
  auto out = plain(std::move(name), std::move(field), std::move(help));
  out.value_name = "TIME";
  out.put = put_one(
      out.field,
      [name = out.name](json::document& input,
                        const std::string& text) -> result<json::value> {
        if (from_rfc3339(text))
          return text_value(input, text);
        if (auto ago = parse_duration(text)) {
          const auto at = system_clock{}.now() - ago.value();
          // Such years have no text of RFC 3339, and no event is of then.
          if (at < time_point{})
            return fail(errc::invalid_input,
                        name + " goes back to before 1970");
          return text_value(input, to_rfc3339(at));
        }
        return fail(errc::invalid_input,
                    name +
                        " is a time (2026-11-29T18:00:00Z) or how long ago "
                        "(90s, 15m, 2h)");
      });
  return out;
}

argument flag(std::string name, std::string field, std::string help) {
  auto out = plain(std::move(name), std::move(field), std::move(help));
  out.takes = arity::flag;
  out.put = [field = out.field](
                json::document& input,
                const std::vector<std::string>&) -> result<void> {
    member_at(input, field).SetBool(true);
    return ok();
  };
  return out;
}

argument empty_object(std::string name, std::string field, std::string help) {
  auto out = flag(std::move(name), std::move(field), std::move(help));
  out.put = [field = out.field](
                json::document& input,
                const std::vector<std::string>&) -> result<void> {
    member_at(input, field).SetObject();
    return ok();
  };
  return out;
}

argument object_file(std::string name, std::string field, std::string help) {
  auto out = plain(std::move(name), std::move(field), std::move(help));
  out.value_name = "FILE";
  out.put =
      put_one(out.field,
              [](json::document& input,
                 const std::string& path) -> result<json::value> {
                BC_TRY(content, path == "-" ? read_input() : read_file(path));
                auto object = json::parse_object(content);
                if (!object)
                  return with_name(path, object.error());
                return json::value{object.value(), input.GetAllocator()};
              });
  return out;
}

argument required(argument a) {
  a.required = true;
  return a;
}

argument one_of(std::vector<std::string> choices, argument a) {
  a.choices = std::move(choices);
  return a;
}

argument required_or_kept(argument a, std::string context::*kept) {
  a.required = true;
  a.kept = kept;
  return a;
}

}  // namespace bc::cli
