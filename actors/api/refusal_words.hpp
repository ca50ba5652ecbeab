#pragma once

#include <string_view>

/// Private to the words of refusals (refusal_texts.hpp).
namespace bc::actors::api {

struct words {
  std::string_view meaning;  // one sentence
  std::string_view advice;
};

}  // namespace bc::actors::api
