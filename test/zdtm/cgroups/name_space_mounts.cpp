// SPDX-License-Identifier: GPL-2.0-only
// zdtm: between rmdir $(cat group)/inner $(cat group)
// zdtm: not-in terminated,killed
// zdtm: fails-with-4.2 the first process is in the mount namespace of criu, and others aren't
#include <sched.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "cgroups.hpp"
#include "mounts.hpp"
#include "zdtm.hpp"

namespace {

// Returns, for each mount of the test's hierarchy, its root in the hierarchy and its mount point.
std::set<std::string> mounted() {
    std::istringstream lines(zdtm::read_file("/proc/self/mountinfo"));
    std::set<std::string> all;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream fields(line);
        std::string id, parent, device, root, place;
        fields >> id >> parent >> device >> root >> place;
        if (line.find("name=zdtm") != std::string::npos)
            all.insert(root + " at " + place);
    }
    return all;
}

}  // namespace

ZDTM("a child in cgroup and mount namespaces has two mounts of a hierarchy: all of it and its own part") {
    const zdtm::Cgroups groups("none,name=zdtm");
    groups.make("inner");
    const pid_t child = me.start_child([&](zdtm::Task& task) {
        groups.enter("inner");
        zdtm::enter_new_mounts();
        SYS(unshare(CLONE_NEWCGROUP));
        zdtm::mount_on("part", "cgroup", "none,name=zdtm");
        const std::string here = std::filesystem::current_path().string() + "/part";
        const std::set<std::string> wanted{"/../.. at /mnt", "/ at " + here};
        CHECK(mounted() == wanted, "%s", mounted().begin()->c_str());
        task.wait_for_check();
        CHECK(mounted() == wanted, "%s, %s", mounted().begin()->c_str(), mounted().rbegin()->c_str());
        CHECK(zdtm::read_file("part/cgroup.procs").find(std::to_string(getpid())) != std::string::npos,
              "the child isn't in the root of its part");
    });
    me.wait_for_check();
    me.finish(child);
    groups.leave({"inner"});
}
