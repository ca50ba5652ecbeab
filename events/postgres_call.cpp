#include "events/postgres_call.hpp"

#include <libpq-fe.h>

#include <charconv>
#include <utility>

namespace bc::postgres {

namespace {

// Fixed numbers of the server's catalogue (pg_type.dat).
constexpr std::uint32_t bigint_type = 20;
constexpr std::uint32_t text_type = 25;

// The most significant byte first.
template <class Number>
void put_number(std::string& out, Number n) {
  char bytes[sizeof n];
  for (std::size_t i = sizeof n; i-- > 0; n = static_cast<Number>(n >> 8))
    bytes[i] = static_cast<char>(n & 0xff);
  out.append(bytes, sizeof bytes);
}

}  // namespace

argument argument::of_binary(std::string bytes) {
  argument a;
  a.bytes_ = std::move(bytes);
  a.null_ = false;
  a.binary_ = true;
  return a;
}

void array::put(std::uint32_t n) {
  put_number(values_, n);
}

void array::put(std::string_view bytes) {
  values_ += bytes;
}

void array::add_null() {
  has_null_ = true;
  put(~std::uint32_t{0});
  count();
}

// Dimensions, whether there are nulls, the element type, then the one
// dimension's length and lower bound. An empty array has no dimension.
argument array::take() {
  std::string header;
  put_number(header, std::uint32_t{empty() ? 0U : 1U});
  put_number(header, std::uint32_t{has_null_ ? 1U : 0U});
  put_number(header, element_type_);
  if (!empty()) {
    put_number(header, count_);
    put_number(header, std::uint32_t{1});
  }
  // In place: there can be megabytes behind it.
  values_.insert(0, header);
  count_ = 0;
  has_null_ = false;
  return argument::of_binary(std::exchange(values_, {}));
}

text_array::text_array() : array(text_type) {}

void text_array::add(std::string_view text) {
  put(static_cast<std::uint32_t>(text.size()));
  put(text);
  count();
}

number_array::number_array() : array(bigint_type) {}

void number_array::add(std::int64_t number) {
  std::string bytes;
  put_number(bytes, static_cast<std::uint64_t>(number));
  put(std::uint32_t{8});
  put(bytes);
  count();
}

void rows::deleter::operator()(pg_result* r) const {
  PQclear(r);
}

rows::rows(pg_result* r) : result_(r) {}

int rows::count() const {
  return PQntuples(result_.get());
}

bool rows::is_null(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}

std::string_view rows::text(int row, int column) const {
  return {PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

std::int64_t rows::number(int row, int column) const {
  auto value = text(row, column);
  if (value == "t")
    return 1;
  std::int64_t n = 0;
  std::from_chars(value.data(), value.data() + value.size(), n);
  return n;
}

std::int64_t rows::changed() const {
  std::string_view value = PQcmdTuples(result_.get());
  std::int64_t n = 0;
  std::from_chars(value.data(), value.data() + value.size(), n);
  return n;
}

}  // namespace bc::postgres
