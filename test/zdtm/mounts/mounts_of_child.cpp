// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the first process is in the mount namespace of criu, and others aren't
// zdtm: may-differ tmpfs-dev: \./\S*: mode 04
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <string>

#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

std::string content_of(int file) {
    char text[16] = {};
    SYS(pread(file, text, sizeof(text) - 1, 0));
    return text;
}

// Makes a file that has one path in criu's mount namespace and another path in the child's.
int make_file(const char* path, const char* text) {
    const int file = SYS(open(path, O_RDWR | O_CREAT | O_EXCL, 0600));
    SYS(write(file, text, strlen(text)));
    return file;
}

}  // namespace

ZDTM("children in private mount namespaces, and a parent in criu's mount namespace") {
    SYS(mkdir("outside", 0700));
    SYS(mkdir("outside/seen", 0700));
    SYS(mkdir("outside/own", 0700));
    const int above = make_file("outside/above", "above");
    const int hidden = make_file("outside/own/file", "outside");
    char* const current = getcwd(nullptr, 0);
    CHECK(current != nullptr, "%s", strerror(errno));
    const std::string here = std::string(current) + "/outside";
    free(current);

    const pid_t child = me.start_child([&](zdtm::Task& task) {
        zdtm::enter_small_root();
        zdtm::bind_on(here, here + "/seen");
        zdtm::mount_on(here + "/own", "tmpfs");
        const int own = make_file("outside/own/file", "inside");
        const int bound = SYS(open("outside/seen/above", O_RDWR));
        const int deleted = make_file("outside/own/deleted", "deleted");
        SYS(unlink("outside/own/deleted"));
        SYS(chdir("outside/own"));
        SYS(close(above));
        const auto before = zdtm::mount_lines();

        task.wait_for_check();

        zdtm::check_mounts(before);
        CHECK(content_of(own) == "inside", "%s", content_of(own).c_str());
        CHECK(content_of(hidden) == "outside", "%s", content_of(hidden).c_str());
        CHECK(content_of(bound) == "above", "%s", content_of(bound).c_str());
        CHECK(content_of(deleted) == "deleted", "%s", content_of(deleted).c_str());
        CHECK(zdtm::read_file("file") == "inside", "%s", zdtm::read_file("file").c_str());
        zdtm::mount_on(here + "/own", "tmpfs");
    });
    const pid_t reader = me.start_child([&](zdtm::Task& task) {
        zdtm::enter_small_root();
        SYS(mount(nullptr, "/", nullptr, MS_REMOUNT | MS_BIND | MS_RDONLY, nullptr));
        const auto before = zdtm::mount_lines();
        task.wait_for_check();
        zdtm::check_mounts(before);
        CHECK(content_of(hidden) == "outside", "%s", content_of(hidden).c_str());
        CHECK(open((here + "/new").c_str(), O_WRONLY | O_CREAT, 0600) < 0 && errno == EROFS, "it can be written to");
    });
    const auto before = zdtm::mount_lines();

    me.wait_for_check();

    zdtm::check_mounts(before);
    CHECK(content_of(above) == "above", "%s", content_of(above).c_str());
    me.finish(child);
    me.finish(reader);
    CHECK(zdtm::read_file("outside/own/file") == "outside", "%s", zdtm::read_file("outside/own/file").c_str());
}
