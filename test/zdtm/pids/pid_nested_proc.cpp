// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 it restores one pid namespace only
// zdtm: restore-options --root /
#include <sched.h>
#include <sys/mount.h>

#include <fstream>

#include "mounts.hpp"
#include "nested_pids.hpp"

namespace {

std::string self_of(const std::string& proc) {
    char text[32] = {};
    return readlink((proc + "/self").c_str(), text, sizeof(text) - 1) < 0 ? "no process" : text;
}

// Mounts /proc as container engines do: some of it read-only, some of it hidden.
void mount_container_proc() {
    zdtm::mount_on("/proc", "proc", "", MS_NOSUID | MS_NODEV | MS_NOEXEC);
    zdtm::bind_on("/proc/sys", "/proc/sys");
    SYS(mount(nullptr, "/proc/sys", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
              nullptr));
    SYS(mount("tmpfs", "/proc/tty", "tmpfs", MS_RDONLY, "size=64k"));
    zdtm::bind_on("/dev/null", "/proc/version");
}

void check_container_proc() {
    CHECK(self_of("/proc") == "1", "/proc shows %s", self_of("/proc").c_str());
    CHECK(access("/proc/sys/kernel/ostype", R_OK) == 0, "%s", strerror(errno));
    CHECK(open("/proc/sys/kernel/hostname", O_WRONLY | O_CLOEXEC) < 0 && errno == EROFS, "%s", strerror(errno));
    CHECK(access("/proc/tty/drivers", F_OK) < 0, "a hidden file is there");
    char byte = 0;
    const int empty = SYS(open("/proc/version", O_RDONLY | O_CLOEXEC));
    CHECK(read(empty, &byte, 1) == 0, "a hidden file is there");
    SYS(close(empty));
    std::string line;
    for (std::ifstream status("/proc/1/status"); std::getline(status, line);)
        if (line.starts_with("NSpid:"))
            break;
    CHECK(line == "NSpid:\t1", "process 1 is called otherwise: %s", line.c_str());
}

void live_in_container(zdtm::Task& task) {
    const pid_t below = zdtm::start_first(task, [](zdtm::Task& inner) {
        SYS(unshare(CLONE_NEWNS));
        mount_container_proc();
        check_container_proc();
        const auto before = zdtm::mount_lines();
        inner.wait_for_check();
        check_container_proc();
        zdtm::check_mounts(before);
    });
    SYS(unshare(CLONE_NEWNS));
    mount_container_proc();
    check_container_proc();
    const auto before = zdtm::mount_lines();
    task.wait_for_check();
    check_container_proc();
    zdtm::check_mounts(before);
    task.finish(below);
}

// Mounts /proc of the namespace above, and a proc of this namespace at another path.
void live_with_both(zdtm::Task& task) {
    SYS(unshare(CLONE_NEWNS));
    zdtm::mount_on("/mnt", "tmpfs");
    zdtm::mount_on("/mnt/proc", "proc");
    const std::string above = self_of("/proc");
    CHECK(above != "1" && self_of("/mnt/proc") == "1", "called %s and %s", above.c_str(), self_of("/mnt/proc").c_str());
    const auto before = zdtm::mount_lines();
    task.wait_for_check();
    CHECK(above == self_of("/proc") && self_of("/mnt/proc") == "1", "called %s and %s", self_of("/proc").c_str(),
          self_of("/mnt/proc").c_str());
    zdtm::check_mounts(before);
}

}  // namespace

ZDTM("proc mounts of nested pid namespaces in private mount namespaces") {
    zdtm::enter_new_mounts();
    const pid_t container = zdtm::start_first(me, live_in_container);
    const pid_t both = zdtm::start_first(me, live_with_both);
    const auto before = zdtm::mount_lines();
    me.wait_for_check();
    zdtm::check_mounts(before);
    CHECK(self_of("/proc") == std::to_string(getpid()), "/proc shows %s", self_of("/proc").c_str());
    me.finish(container);
    me.finish(both);
}
