// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/run_command.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include <string>

#include "criu/base/unique_fd.hpp"

namespace {

/// Scope in which a variable of this process' environment is set.
class Variable {
public:
    Variable(const char* name, const char* value) : name_(name) {
        if (const char* const before = ::getenv(name))
            before_ = before;
        ::setenv(name, value, 1);
    }
    ~Variable() {
        if (before_.empty())
            ::unsetenv(name_);
        else
            ::setenv(name_, before_.c_str(), 1);
    }
    Variable(const Variable&) = delete;
    Variable& operator=(const Variable&) = delete;

private:
    const char* name_;
    std::string before_;
};

}  // namespace

TEST_CASE("a helper's environment is a fixed one, whatever criu's is") {
    const Variable libraries("XTABLES_LIBDIR", "/tmp/others");
    const Variable path("PATH", "/tmp/others");
    const Variable locale("LC_ALL", "xx_XX");
    const std::string zero(1, '\0');
    CHECK(criu::kernel::runProgram("/bin/cat", {"/proc/self/environ"}, {}) ==
          "PATH=/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/sbin:/usr/local/bin" + zero + "LC_ALL=C" + zero);
}

TEST_CASE("a helper has three descriptors, whatever criu has open") {
    const criu::UniqueFd inherited(::open("/", O_PATH));  // stays open across execve(2)
    REQUIRE(inherited);
    // ls itself opens the fourth.
    CHECK(criu::kernel::runProgram("/bin/ls", {"/proc/self/fd"}, {}) == "0\n1\n2\n3\n");
}
