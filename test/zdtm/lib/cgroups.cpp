// SPDX-License-Identifier: GPL-2.0-only
#include "cgroups.hpp"

#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <sstream>

#include "zdtm.hpp"

namespace zdtm {
namespace {

std::string at(const std::string& path, const std::string& below) {
    return below.empty() ? path : path + '/' + below;
}

}  // namespace

Cgroups::Cgroups(const std::string& options) : options_(options) {
    SYS(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr));
    if (mount("none", "/mnt", options.empty() ? "cgroup2" : "cgroup", 0, options.c_str()) == -1) {
        skip("no cgroup hierarchy \"%s\": %s", options.c_str(), strerror(errno));
    }
    char name[] = "/mnt/zdtm-XXXXXX";
    CHECK(mkdtemp(name) != nullptr, "%s", strerror(errno));
    SYS(chmod(name, 0755));
    name_ = name + std::strlen("/mnt");
    write_file("group", name);
}

std::string Cgroups::make(const std::string& below) const {
    const std::string path = at("/mnt" + name_, below);
    CHECK(mkdir(path.c_str(), 0755) == 0 || errno == EEXIST, "mkdir %s: %s", path.c_str(), strerror(errno));
    return path;
}

std::string Cgroups::in_proc(const std::string& below) const {
    return at(name_, below);
}

void Cgroups::enter(const std::string& below, bool thread) const {
    const char* const file = !thread ? "/cgroup.procs" : (options_.empty() ? "/cgroup.threads" : "/tasks");
    write_file(make(below) + file, "0");
}

void Cgroups::enter_and_check(Task& me, std::string wanted) const {
    if (wanted.empty())
        wanted = in_proc();
    enter();
    me.wait_for_check();
    CHECK(where() == wanted, "in %s, not %s", where().c_str(), wanted.c_str());
}

std::string Cgroups::where(pid_t tid) const {
    const long id = tid == 0 ? syscall(SYS_gettid) : tid;
    std::istringstream lines(read_file("/proc/self/task/" + std::to_string(id) + "/cgroup"));
    const std::size_t name = options_.find("name=");
    const std::string wanted = ':' + (name == std::string::npos ? options_ : options_.substr(name)) + ':';
    for (std::string line; std::getline(lines, line);) {
        const std::size_t found = line.find(wanted);
        if (found != std::string::npos && line.find(':') == found) {
            return line.substr(found + wanted.size());
        }
    }
    return "";
}

void Cgroups::leave(std::initializer_list<std::string> below) const {
    write_file("/mnt/cgroup.procs", "0");
    for (const std::string& name : below) {
        SYS(rmdir(at("/mnt" + name_, name).c_str()));
    }
    SYS(rmdir(("/mnt" + name_).c_str()));
}

}  // namespace zdtm
