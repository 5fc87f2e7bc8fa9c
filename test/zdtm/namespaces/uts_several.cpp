// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one UTS namespace only
#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "zdtm.hpp"

namespace {

void call(const std::string& host) {
    SYS(sethostname(host.data(), host.size()));
    SYS(setdomainname(host.data(), host.size()));
}

bool called(const std::string& host) {
    utsname names{};
    SYS(uname(&names));
    return names.nodename == host && names.domainname == host;
}

}  // namespace

ZDTM("children in private UTS namespaces, one of them with a child, keep names and namespaces") {
    SYS(unshare(CLONE_NEWUTS));
    call("first");
    const pid_t service = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWUTS));
        call("service");
        const pid_t worker = task.start_child([](zdtm::Task& below) {
            below.wait_for_check();
            CHECK(called("service"), "the worker has other names");
            call("changed");
        });
        task.wait_for_check();
        CHECK(called("service"), "the service has other names");
        task.finish(worker);
        CHECK(called("changed"), "the worker isn't in the service's namespace");
    });
    const pid_t other = me.start_child([](zdtm::Task& task) {
        SYS(unshare(CLONE_NEWUTS));
        call("other");
        task.wait_for_check();
        CHECK(called("other"), "the other one has other names");
    });
    me.wait_for_check();
    CHECK(called("first"), "the first one has other names");
    me.finish(service);
    me.finish(other);
    CHECK(called("first"), "a namespace that was another one is that of the first one");
}
