// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/daemon_process.hpp"

#include <catch2/catch.hpp>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "criu/base/error.hpp"

using criu::engine::createDaemon;

namespace {

/// Returns the exit status of a child of this process that runs `work`.
template <typename Work>
int statusOf(Work work) {
    const pid_t child = ::fork();
    if (child == 0)
        ::_exit(work());
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
}

}  // namespace

TEST_CASE("a daemon isn't a child that the caller must wait for", "[daemon]") {
    CHECK(statusOf([] {
              int ends[2];
              if (::pipe(ends) != 0)
                  return 1;
              const pid_t creator = ::getpid();
              createDaemon("a daemon", [&] {
                  const bool orphan = ::getppid() != creator;
                  (void)!::write(ends[1], &orphan, sizeof(orphan));
                  ::_exit(0);
              });
              bool orphan = false;
              if (::read(ends[0], &orphan, sizeof(orphan)) != sizeof(orphan) || !orphan)
                  return 2;
              return ::waitpid(-1, nullptr, 0) < 0 && errno == ECHILD ? 0 : 3;
          }) == 0);
}

TEST_CASE("a daemon that can't be created is an error, whichever fork fails", "[daemon]") {
    if (::geteuid() != 0) {
        WARN("needs root");
        return;
    }
    // Limit of processes for the user: this one, the intermediate one, and the daemon (RLIMIT_NPROC).
    constexpr rlim_t kEnough = 3;
    for (rlim_t most = 1; most <= kEnough; ++most) {
        INFO(most << " processes");
        CHECK(statusOf([most] {
                  constexpr uid_t kNobodyElse = 3'456'789;
                  const rlimit limit{most, most};
                  if (::setrlimit(RLIMIT_NPROC, &limit) != 0 || ::setresuid(kNobodyElse, kNobodyElse, kNobodyElse) != 0)
                      return -1;
                  try {
                      createDaemon("a daemon", [] { ::_exit(0); });
                  } catch (const criu::Error& error) {
                      return error.code();
                  }
                  return 0;
              }) == (most < kEnough ? EAGAIN : 0));
    }
}
