// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "zdtm.hpp"

namespace {
struct Identity {
    std::string command_line, environment, auxiliary, executable;

    static Identity now() {
        char link[4096] = {};
        SYS(readlink("/proc/self/exe", link, sizeof link - 1));
        return {zdtm::read_file("/proc/self/cmdline"), zdtm::read_file("/proc/self/environ"),
                zdtm::read_file("/proc/self/auxv"), link};
    }
};
}  // namespace

ZDTM("command line, environment, auxiliary vector, executable and name") {
    SYS(prctl(PR_SET_NAME, "another name", 0, 0, 0));
    setenv("ADDED", "later", 1);
    const Identity before = Identity::now();
    const unsigned long page = getauxval(AT_PAGESZ);
    const unsigned long random = getauxval(AT_RANDOM);
    const std::string seed(reinterpret_cast<const char*>(random), 16);
    me.wait_for_check();

    const Identity now = Identity::now();
    CHECK(now.command_line == before.command_line, "now %s", now.command_line.c_str());
    CHECK(now.environment == before.environment, "now %s", now.environment.c_str());
    CHECK(now.auxiliary == before.auxiliary && now.auxiliary.size() > 100, "%zu bytes", now.auxiliary.size());
    CHECK(now.executable == before.executable, "now %s", now.executable.c_str());
    CHECK(getauxval(AT_PAGESZ) == page && getauxval(AT_RANDOM) == random, "getauxval() changed");
    CHECK(seed == std::string(reinterpret_cast<const char*>(random), 16), "the random seed changed");
    CHECK(strcmp(getenv("ADDED"), "later") == 0, "a variable is lost");
    char name[16] = {};
    SYS(prctl(PR_GET_NAME, name, 0, 0, 0));
    CHECK(strcmp(name, "another name") == 0, "name %s", name);
}
