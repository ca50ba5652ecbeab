// spec: WHATWG HTML 9.2.6, interpreting an event stream.

#include "ops/cli/sse_reader.hpp"

#include <catch2/catch.hpp>

#include <string>
#include <vector>

using bc::cli::sse_reader;

namespace {

struct taken {
  std::vector<std::string> data;
  std::string last_id;
};

taken read(const std::string& text, std::size_t piece) {
  taken out;
  sse_reader reader{[&](const std::string& d) { out.data.push_back(d); }};
  for (std::size_t i = 0; i < text.size(); i += piece)
    reader.take(std::string_view{text}.substr(i, piece));
  out.last_id = reader.last_id();
  return out;
}

}  // namespace

TEST_CASE("sse reader: events, ids and comments, however the text is cut") {
  const std::string text =
      "retry: 1000\n\n"
      "id: inc-1\nevent: a\ndata: {\"a\":1}\n\n"
      ":\nid: inc-7\n\n"
      "data:x\ndata: y\nunknown: z\nlonely\n\n"
      "id: inc-9\r\ndata: crlf\r\n\r\n"
      "id: inc-10\ndata: cut off\n";
  for (std::size_t piece : {1u, 2u, 3u, 7u, 1000u}) {
    INFO(piece);
    auto got = read(text, piece);
    CHECK(got.data == std::vector<std::string>{"{\"a\":1}", "x\ny", "crlf"});
    // The last one has no end: it will be sent again.
    CHECK(got.last_id == "inc-9");
  }
}

TEST_CASE("sse reader: what a lost connection left unfinished is forgotten") {
  std::vector<std::string> data;
  sse_reader reader{[&](const std::string& d) { data.push_back(d); }};
  reader.take("id: 1\ndata: a\n\nid: 2\ndata: b\ndata: hal");
  reader.begin();
  CHECK(reader.last_id() == "1");
  reader.take(":\n\nid: 2\ndata: b\n\n");
  CHECK(data == std::vector<std::string>{"a", "b"});
  CHECK(reader.last_id() == "2");
}

TEST_CASE("sse reader: an id alone moves the point to resume from") {
  auto got = read(":\nid: inc-7\n\n", 4);
  CHECK(got.data.empty());
  CHECK(got.last_id == "inc-7");
}
