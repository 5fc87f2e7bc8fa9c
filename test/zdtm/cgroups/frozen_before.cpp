// SPDX-License-Identifier: GPL-2.0-only
// zdtm: dump-options --freeze-cgroup /mnt/zdtm-frozen-before
// zdtm: modes leave-running
#include <sys/mount.h>
#include <sys/stat.h>

#include "zdtm.hpp"

// The option names one place for all runs, so there is only one mode.
ZDTM("--freeze-cgroup with a group that is frozen already stays frozen") {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    if (mount("none", "/mnt", "cgroup", 0, "freezer") == -1) {
        zdtm::skip("no freezer: %s", strerror(errno));
    }
    const std::string group = "/mnt/zdtm-frozen-before";
    CHECK(mkdir(group.c_str(), 0755) == 0 || errno == EEXIST, "%s", strerror(errno));
    // Whoever ran even for a moment has made steps.
    auto* const steps = reinterpret_cast<volatile std::uint64_t*>(
        zdtm::map(zdtm::page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        zdtm::write_file(group + "/cgroup.procs", "0");
        task.ready();
        while (!task.triggered()) {
            *steps = *steps + 1;
        }
    });
    const auto state = [&] { return zdtm::read_file(group + "/freezer.state"); };
    zdtm::write_file(group + "/freezer.state", "FROZEN");
    while (state() != "FROZEN\n") {
        usleep(1000);
    }
    const std::uint64_t before = *steps;
    me.wait_for_check();
    const std::string found = state();
    const std::uint64_t after = *steps;
    zdtm::write_file(group + "/freezer.state", "THAWED");  // else it couldn't end
    CHECK(found == "FROZEN\n", "%s", found.c_str());
    CHECK(after == before, "the frozen child made %lu steps", after - before);
    me.finish(child);
    CHECK(rmdir(group.c_str()) == 0 || errno == EBUSY, "%s", strerror(errno));
}
