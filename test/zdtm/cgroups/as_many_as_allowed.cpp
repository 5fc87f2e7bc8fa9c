// SPDX-License-Identifier: GPL-2.0-only
// zdtm: also background
#include "cgroups.hpp"
#include "zdtm.hpp"

ZDTM("a control group with as many tasks as it may have (pids.max), whose processes have much memory") {
    constexpr std::size_t kBytes = std::size_t{16} << 20;
    const zdtm::Cgroups groups("pids");
    const std::string path = groups.make();
    groups.enter();
    const std::span<std::byte> memory = zdtm::map(kBytes);
    zdtm::fill(memory, 1);
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        const std::span<std::byte> own = zdtm::map(kBytes);
        zdtm::fill(own, 2);
        task.wait_for_check();
        CHECK(zdtm::first_difference(own, 2) == -1, "at %zd", zdtm::first_difference(own, 2));
    });
    zdtm::write_file(path + "/pids.max", zdtm::read_file(path + "/pids.current"));
    me.wait_for_check();

    CHECK(zdtm::first_difference(memory, 1) == -1, "at %zd", zdtm::first_difference(memory, 1));
    CHECK(zdtm::read_file(path + "/pids.max") == zdtm::read_file(path + "/pids.current"), "%s are allowed",
          zdtm::read_file(path + "/pids.max").c_str());
    CHECK(fork() == -1 && errno == EAGAIN, "a process more");
    me.finish(child);
    groups.leave();
}
