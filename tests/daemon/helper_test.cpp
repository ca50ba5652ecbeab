// spec: joining#troubleshooting ([helper]); ATTESTATION section 2.2. The helper
// that holds the TPM, its frames and its socket.
#include "daemon/helper_client.hpp"
#include "daemon/helper_frames.hpp"
#include "daemon/helper_socket.hpp"
#include "daemon/tpm_doctor.hpp"
#include "pki/csr.hpp"
#include "pki/tpm/cursor.hpp"
#include "pki/tpm/templates.hpp"
#include "tests/daemon/running_helper.hpp"
#include "tests/daemon/tpm_world.hpp"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;
namespace fs = std::filesystem;

namespace {

using op = helper_operation;

bytes framed(const bytes& content) {
  bytes out;
  pki::tpm::put_number(out, content.size(), 4);
  pki::tpm::put(out, content);
  return out;
}

byte_view content_of(const bytes& frame) {
  return byte_view{frame}.subspan(helper_length_size);
}

helper_request signing(soft_keeper& tpm) {
  return {op::sign, tpm.create_node_key().value(), bytes(32, 7)};
}

}  // namespace

TEST_CASE("helper: frames come back as they were") {
  soft_keeper tpm;
  auto key = tpm.create_node_key().value();
  for (const auto& request :
       {helper_request{op::ak_public}, helper_request{op::create_node_key},
        helper_request{op::hardware},
        helper_request{op::sign, key, bytes(32, 1)},
        helper_request{op::certify, key, bytes(400, 2)}}) {
    auto frame = encode(request);
    CHECK(helper_frame_length(byte_view{frame}.first(4)) ==
          frame.size() - helper_length_size);
    CHECK(decode_helper_request(content_of(frame)) == request);
  }
  for (auto code :
       {errc::unavailable, errc::invalid_state, errc::invalid_input}) {
    auto back = decode_helper_reply(
        content_of(encode(helper_reply{fail(code, "why not")})));
    REQUIRE(back);
    REQUIRE(std::holds_alternative<fault>(*back));
    CHECK(std::get<fault>(*back).code == code);
    CHECK(std::get<fault>(*back).message == "why not");
  }
  const std::vector<bytes> parts{bytes(64, 1), bytes(100, 2)};
  auto back = decode_helper_reply(content_of(encode(helper_reply{parts})));
  REQUIRE(back);
  CHECK(std::get<std::vector<bytes>>(*back) == parts);
}

TEST_CASE("helper: what is none of its operations is not read") {
  soft_keeper tpm;
  const auto good = signing(tpm);
  auto refused = [](const helper_request& r) {
    auto frame = encode(r);
    return !decode_helper_request(content_of(frame));
  };
  CHECK_FALSE(refused(good));
  auto r = good;
  SECTION("a digest of another length") {
    r.input.pop_back();
  }
  SECTION("no private part") {
    r.key.private_area.clear();
  }
  SECTION("a CSR that is too long") {
    r.what = op::certify;
    r.input = bytes(4'097, 1);
  }
  // Other keys under the same storage root are not the node's to use.
  auto area = pki::tpm::parse_public(r.key.public_area).value();
  SECTION("a key that the AK's template makes") {
    area = tpm.ak().area;
    r.key.public_area = pki::tpm::encode(area);
  }
  SECTION("each attribute bit") {
    const auto bit = GENERATE(range(0, 32));
    area.attributes ^= 1U << bit;
    r.key.public_area = pki::tpm::encode(area);
  }
  SECTION("a policy") {
    area.auth_policy = bytes(32, 1);
    r.key.public_area = pki::tpm::encode(area);
  }
  SECTION("trailing bytes in it") {
    r.key.public_area.push_back(0);
  }
  CHECK(refused(r));
}

TEST_CASE("helper: every cut and every trailing byte is refused") {
  soft_keeper tpm;
  auto frame = encode(signing(tpm));
  auto content = to_bytes(content_of(frame));
  for (std::size_t size = 0; size < content.size(); ++size)
    CHECK_FALSE(decode_helper_request(byte_view{content}.first(size)));
  content.push_back(0);
  CHECK_FALSE(decode_helper_request(content));
  for (int first = 0; first < 256; ++first)
    if (first < 1 || (first > 2 && first != 5))
      CHECK_FALSE(
          decode_helper_request(bytes{static_cast<std::uint8_t>(first)}));
  CHECK_FALSE(decode_helper_reply({}));
  CHECK_FALSE(decode_helper_reply(bytes{4, 0, 0}));
  CHECK_FALSE(decode_helper_reply(bytes{0, 0, 0, 0, 0, 0, 0}));
  CHECK_FALSE(helper_frame_length(bytes{0, 0, 0, 0}));
  CHECK_FALSE(helper_frame_length(bytes{0, 0, 0x20, 1}));
  CHECK(helper_frame_length(bytes{0, 0, 0x20, 0}) == max_helper_frame);
}

TEST_CASE("helper: a node that is not root signs and renews by it") {
  running_helper h;
  auto keeper = helper_keeper(h.socket);
  CHECK(keeper->is_there());
  CHECK(keeper->ak_public().value() == h.tpm->ak().encoded());
  tpm_world w;
  // The world's TPM is the one that the helper holds.
  w.tpm = h.tpm;
  w.keys = machine_keys{keeper, true};
  w.me.key = w.keys.make_in_tpm().value();
  w.me.who.certificate_chain.front() =
      w.certificate(w.me.key.pub(), {h.tpm->statement()});
  auto got = w.renew();
  INFO(got.why);
  REQUIRE(got.what == renewal_attempt::end::renewed);
  auto digest = pki::sha256(as_bytes("x"));
  CHECK(got.renewed->key.pub().verify(digest,
                                      got.renewed->key.sign(digest).value()));
}

TEST_CASE("helper: the TPM's faults come through") {
  running_helper h;
  auto keeper = helper_keeper(h.socket);
  auto key = keeper->create_node_key().value();
  h.tpm->answers = false;
  auto away = keeper->sign(key, {});
  REQUIRE_FALSE(away);
  CHECK(away.error().code == errc::unavailable);
  CHECK_THAT(away.error().message, Catch::Contains("No such device"));
  h.tpm->answers = true;
  h.tpm->seed = 1;
  auto cleared = keeper->certify(key, bytes(100, 1));
  REQUIRE_FALSE(cleared);
  CHECK(cleared.error().code == errc::invalid_state);
}

TEST_CASE("helper: none answers: UNAVAILABLE, and it says which service") {
  temporary_folder folder;
  auto keeper = helper_keeper(folder / "helper.sock");
  auto got = keeper->ak_public();
  REQUIRE_FALSE(got);
  CHECK(got.error().code == errc::unavailable);
  CHECK_THAT(got.error().message,
             Catch::Contains("bcd helper") && Catch::Contains("bcd-helper"));
  CHECK_FALSE(helper_keeper(std::string(200, 'x'))->ak_public());
}

TEST_CASE("helper: what a peer sends wrong costs its own connection alone") {
  running_helper h;
  auto keeper = helper_keeper(h.socket);
  // Too long, cut, and silent for longer than its patience.
  CHECK_FALSE(h.say_raw(bytes{0xff, 0xff, 0xff, 0xff, 1}));
  CHECK_FALSE(h.say_raw(bytes{0, 0, 0, 9, 1}));
  CHECK_FALSE(h.say_raw({}, true));
  // A whole frame of something else is answered.
  auto reply = h.say_raw(framed({9}));
  REQUIRE(reply);
  auto said = decode_helper_reply(*reply);
  REQUIRE(said);
  CHECK(std::get<fault>(*said).code == errc::invalid_input);
  CHECK(h.tpm->calls.empty());
  CHECK(keeper->ak_public());
}

TEST_CASE(
    "helper: a peer that sends a byte now and then is late all the same") {
  running_helper h;
  auto line = make_helper_socket();
  auto to = helper_address(h.socket).value();
  REQUIRE(::connect(line.fd(), reinterpret_cast<const sockaddr*>(&to),
                    sizeof to) == 0);
  // Each byte comes well within the patience, all of them in ten times that.
  const auto frame = framed(bytes(36, 9));
  for (auto byte : frame) {
    if (!send_all(line, bytes{byte}))
      break;
    std::this_thread::sleep_for(h.options.patience / 4);
  }
  CHECK_FALSE(receive_frame(line, seconds{10}));
}

TEST_CASE("helper: there is one at a socket, which ends with it") {
  fs::path socket;
  {
    running_helper h;
    socket = h.socket;
    struct stat about {};
    REQUIRE(::stat(socket.c_str(), &about) == 0);
    // Who asks is judged by the kernel's word, not by the file's mode.
    CHECK((about.st_mode & 07777) == 0666);
    // Another one turns away from it.
    soft_keeper other;
    auto second = run_helper(h.options, other, {});
    REQUIRE_FALSE(second);
    CHECK(second.error().code == errc::conflict);
    CHECK(fs::exists(socket));
  }
  CHECK_FALSE(fs::exists(socket));
}

TEST_CASE("helper: what was left there is taken, a file is not") {
  running_helper h;
  const auto left = h.folder / "left.sock";
  {
    auto dead = make_helper_socket();
    auto at = helper_address(left).value();
    REQUIRE(::bind(dead.fd(), reinterpret_cast<const sockaddr*>(&at),
                   sizeof at) == 0);
  }
  REQUIRE(fs::exists(left));
  auto options = h.options;
  options.socket = left;
  std::stop_source stop;
  options.ready = [&] { stop.request_stop(); };
  CHECK(run_helper(options, *h.tpm, stop.get_token()));
  write_text(h.folder / "file", "x");
  options.socket = h.folder / "file";
  auto refused = run_helper(options, *h.tpm, {});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == errc::invalid_state);
  CHECK(read_text(h.folder / "file") == "x");
}

TEST_CASE("helper: another user is turned away by the kernel's word") {
  if (::geteuid() != 0)
    return;  // needs to become another user
  running_helper h{12'345};
  // Anybody can reach it here, so that the credentials alone decide.
  fs::permissions(h.folder.path(), fs::perms{0755});
  auto asks_as = [&](uid_t user) {
    const auto child = ::fork();
    if (child == 0) {
      if (::setresuid(user, user, user) != 0)
        ::_exit(9);
      ::_exit(helper_keeper(h.socket)->ak_public() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  };
  CHECK(asks_as(12'345) == 0);
  CHECK(asks_as(0) == 0);
  CHECK(asks_as(12'346) == 1);
  std::lock_guard lock{h.mutex};
  CHECK(std::count_if(h.said.begin(), h.said.end(), [](const auto& line) {
          return line.find("another user") != std::string::npos;
        }) == 1);
}

TEST_CASE("tpm doctor: it asks the helper") {
  running_helper h{::geteuid(), []() -> result<pki::hardware_claims> {
                     return some_claims();
                   }};
  config machine;
  machine.tpm.tcti = "device:" + (h.folder / "no-tpm").string();
  machine.helper = helper_settings{"nobody", h.socket};
  auto look = look_at_tpm(machine, {});
  REQUIRE(look.helper);
  CHECK(look.helper->no_user.empty());
  CHECK(look.helper->ak == h.tpm->statement());
  CHECK(look.helper->no_hardware.empty());
  h.tpm->answers = false;
  machine.helper->user = "no-such-user-x";
  look = look_at_tpm(machine, {});
  CHECK_THAT(look.helper->no_user, Catch::Contains("no-such-user-x"));
  CHECK(look.helper->ak.empty());
  CHECK_THAT(look.helper->no_ak, Catch::Contains("No such device"));
  // Without a TPM it has the hardware identifiers alone.
  machine.tpm.enabled = tpm_settings::use::never;
  look = look_at_tpm(machine, {});
  REQUIRE(look.helper);
  CHECK(look.helper->no_hardware.empty());
  CHECK(look.helper->no_ak.empty());
}
