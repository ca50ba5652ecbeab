// spec: joining#renewal; CASES 129. A TPM that bcd may not open, or whose
// helper is stopped: loud, with the device and its group, and never another
// key.
#include "daemon/helper_client.hpp"
#include "daemon/tpm/local_keeper.hpp"
#include "tests/daemon/tpm_world.hpp"

#include <catch2/catch.hpp>

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace bc;
using namespace bc::daemon;
using namespace bc::testing;
using end = renewal_attempt::end;

namespace {

constexpr uid_t nobody = 65'534;

// What a renewal says in a process of that user without further groups.
std::string as_user(uid_t user, const std::function<std::string()>& work) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    std::string text = "cannot become another user";
    if (::setgroups(0, nullptr) == 0 && ::setresgid(user, user, user) == 0 &&
        ::setresuid(user, user, user) == 0)
      text = work();
    (void)!::write(ends[1], text.data(), text.size());
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string out(4'096, '\0');
  std::size_t size = 0;
  for (ssize_t got = 0;
       (got = ::read(ends[0], out.data() + size, out.size() - size)) > 0;)
    size += static_cast<std::size_t>(got);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  out.resize(size);
  return out;
}

std::string renewed_by(tpm_world& w, std::shared_ptr<tpm::key_keeper> keeper) {
  w.keys = machine_keys{std::move(keeper), false};
  auto got = w.renew();
  return got.what == end::no_key && w.server.requests.empty()
             ? got.why
             : "sent, or not for the key";
}

}  // namespace

TEST_CASE("tpm access: a device of another group is named (case 129)") {
  if (::geteuid() != 0)
    return;  // needs to become another user
  tpm_world w;
  temporary_folder folder;
  std::filesystem::permissions(folder.path(), std::filesystem::perms{0755});
  const auto device = folder / "tpmrm0";
  write_text(device, "");
  REQUIRE(::chmod(device.c_str(), 0660) == 0);
  const auto* group = ::getgrgid(1);
  REQUIRE(group != nullptr);
  REQUIRE(::chown(device.c_str(), 1, 1) == 0);
  tpm_settings settings;
  settings.tcti = "device:" + device.string();
  auto said = as_user(
      nobody, [&] { return renewed_by(w, tpm::local_keeper(settings)); });
  CHECK_THAT(said,
             Catch::StartsWith(std::string{wrong_tpm_text}) &&
                 Catch::Contains(device.string() + " may not be opened") &&
                 Catch::Contains("group " + std::string{group->gr_name}));
  CHECK(tpm::group_of_device(settings.tcti) == 1U);
  REQUIRE(::chown(device.c_str(), 0, 1) == 0);
  CHECK_FALSE(tpm::group_of_device(settings.tcti));
}

TEST_CASE("tpm access: a helper that is stopped is named (case 129)") {
  tpm_world w;
  auto said = renewed_by(w, helper_keeper(w.folder / "helper.sock"));
  CHECK_THAT(said, Catch::StartsWith(std::string{wrong_tpm_text}) &&
                       Catch::Contains("bcd-helper"));
}
