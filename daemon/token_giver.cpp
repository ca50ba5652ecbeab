#include "daemon/token_giver.hpp"

#include "daemon/hardware.hpp"
#include "daemon/token_input.hpp"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

namespace bc::daemon {

namespace {

result<secret_bytes> from_input() {
  if (std::getenv(token_variable) == nullptr && ::isatty(STDIN_FILENO) == 1)
    std::fprintf(stderr,
                 "bcd: reading the join token from standard input; end it "
                 "with Ctrl-D\n");
  return read_token(STDIN_FILENO, sent_token_text());
}

}  // namespace

result<secret_bytes> token_giver::operator()() {
  if (file_.empty())
    return from_input();
  if (std::getenv(token_variable) != nullptr)
    return fail(errc::invalid_input,
                "--token-file and BCD_JOIN_TOKEN are both given; give one");
  BC_TRY(read, read_token_file(file_));
  auto token = read.token.clone();
  read_ = std::move(read);
  return token;
}

void token_giver::joined() {
  if (!read_)
    return;
  if (auto still = remove_token_file(file_, *read_))
    std::fprintf(stderr, "bcd: warning: %s\n", still->c_str());
}

}  // namespace bc::daemon
