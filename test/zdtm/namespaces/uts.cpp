// SPDX-License-Identifier: GPL-2.0-only
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "zdtm.hpp"

namespace {

const std::string host = "elsewhere-" + std::string(54, 'x');  // the longest possible name
const std::string domain = "some domain, with spaces";

bool named() {
    utsname names{};
    SYS(uname(&names));
    return names.nodename == host && names.domainname == domain;
}

}  // namespace

ZDTM("host and domain name of a UTS namespace that a child is in, too") {
    SYS(unshare(CLONE_NEWUTS));
    SYS(sethostname(host.data(), host.size()));
    SYS(setdomainname(domain.data(), domain.size()));
    const pid_t child = me.start_child([](zdtm::Task& task) {
        task.wait_for_check();
        CHECK(named(), "the child has other names");
        SYS(sethostname("changed", 7));
    });
    me.wait_for_check();
    CHECK(named(), "other names");
    me.finish(child);
    utsname names{};
    SYS(uname(&names));
    CHECK(std::strcmp(names.nodename, "changed") == 0, "the child isn't in the same namespace: %s", names.nodename);
}
