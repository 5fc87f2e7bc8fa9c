// SPDX-License-Identifier: GPL-2.0-only
#include "frozen_first.hpp"

#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include <vector>

#include "threads.hpp"

namespace zdtm {
namespace {

void enter(const FrozenGroup& group) {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    if (mount("none", "/mnt", group.type, 0, group.options) == -1) {
        skip("no %s: %s", group.type, strerror(errno));
    }
    CHECK(mkdir(group.path.c_str(), 0755) == 0 || errno == EEXIST, "%s", strerror(errno));
    write_file(group.path + "/cgroup.procs", "0");
}

void check_running(const FrozenGroup& group) {
    const std::string state = read_file(group.path + "/" + group.state);
    CHECK(state == group.running, "%s", state.c_str());
}

void leave(const FrozenGroup& group) {
    write_file("/mnt/cgroup.procs", "0");
    CHECK(rmdir(group.path.c_str()) == 0 || errno == EBUSY, "%s", strerror(errno));
}

}  // namespace

void dump_frozen_first(Task& me, const FrozenGroup& group) {
    enter(group);
    std::atomic<bool> end{false};
    Threads threads(4, [&](unsigned, Threads& all) {
        all.arrive();
        while (!end) {
        }
    });
    const pid_t child = me.start_child([&](Task& task) { task.wait_for_check(); });
    me.wait_for_check();
    check_running(group);
    me.finish(child);
    end = true;
    threads.finish();
    leave(group);
}

void dump_with_traced_child(Task& me, const FrozenGroup& group, const std::function<void()>& wait) {
    enter(group);
    const pid_t child = me.start_child([](Task& task) { task.wait_for_check(); });
    SYS(ptrace(PTRACE_SEIZE, child, nullptr, nullptr));
    wait();
    check_running(group);
    SYS(ptrace(PTRACE_INTERRUPT, child, nullptr, nullptr));
    wait_status(child);
    SYS(ptrace(PTRACE_DETACH, child, nullptr, nullptr));
    me.finish(child);
    leave(group);
}

void dump_already_frozen(Task& me, const std::string& name) {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    if (mount("none", "/mnt", "cgroup", 0, "freezer") == -1) {
        skip("no freezer: %s", strerror(errno));
    }
    const std::string group = "/mnt/" + name;
    CHECK(mkdir(group.c_str(), 0755) == 0 || errno == EEXIST, "%s", strerror(errno));
    // A child that ran even for a moment has made steps.
    auto* const steps = reinterpret_cast<volatile std::uint64_t*>(
        map(page_size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS).data());
    const pid_t child = me.start_child([&](Task& task) {
        write_file(group + "/cgroup.procs", "0");
        task.ready();
        while (!task.triggered()) {
            *steps = *steps + 1;
        }
    });
    // Detaching from these children takes time, in which a thawed child above would run.
    std::vector<pid_t> others;
    for (int i = 0; i < 50; ++i) {
        others.push_back(me.start_child([](Task& task) { task.wait_for_check(); }));
    }
    const auto state = [&] { return read_file(group + "/freezer.state"); };
    write_file(group + "/freezer.state", "FROZEN");
    while (state() != "FROZEN\n") {
        usleep(1000);
    }
    const std::uint64_t before = *steps;
    me.wait_for_check();
    const std::string found = state();
    const std::uint64_t after = *steps;
    write_file(group + "/freezer.state", "THAWED");  // otherwise the child couldn't end
    CHECK(found == "FROZEN\n", "%s", found.c_str());
    CHECK(after == before, "the frozen child made %lu steps", after - before);
    me.finish(child);
    for (const pid_t other : others) {
        me.finish(other);
    }
    CHECK(rmdir(group.c_str()) == 0 || errno == EBUSY, "%s", strerror(errno));
}

}  // namespace zdtm
