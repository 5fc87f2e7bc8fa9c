// SPDX-License-Identifier: GPL-2.0-only
// zdtm: between rmdir $(cat group)/one $(cat group)/two $(cat group)
#include "cgroups.hpp"
#include "threads.hpp"
#include "zdtm.hpp"

ZDTM("threads in threaded groups of version 2") {
    const zdtm::Cgroups groups("");
    zdtm::write_file(groups.make("one") + "/cgroup.type", "threaded");
    zdtm::write_file(groups.make("two") + "/cgroup.type", "threaded");
    groups.enter();
    const auto own = [](unsigned index) { return std::string(index == 0 ? "one" : "two"); };
    zdtm::Threads threads(
        2, [&](unsigned index) { groups.enter(own(index), true); },
        [&](unsigned index) {
            CHECK(groups.where() == groups.in_proc(own(index)), "thread %u is in %s", index, groups.where().c_str());
        });
    me.wait_for_check();
    CHECK(groups.where() == groups.in_proc(), "in %s", groups.where().c_str());
    threads.finish();
    CHECK(zdtm::read_file(groups.make("one") + "/cgroup.type") == "threaded\n", "not threaded");
    groups.leave({"one", "two"});
}
