// SPDX-License-Identifier: GPL-2.0-only
// zdtm: fails-with-4.2 the first process is in the network namespace of criu, and others aren't
#include <dirent.h>

#include <set>
#include <string>

#include "mounts.hpp"
#include "network.hpp"
#include "user_spaces.hpp"
#include "zdtm.hpp"

namespace {

std::set<std::string> names_in(const char* path) {
    std::set<std::string> names;
    DIR* const open = opendir(path);
    CHECK(open != nullptr, "%s: %s", path, strerror(errno));
    while (const dirent* const entry = readdir(open))
        names.insert(entry->d_name);
    closedir(open);
    return names;
}

// Requires sysfs to show the devices of the own network namespace only. A bind mount of a part of sysfs shows one
// device.
void check_devices(const char* own) {
    const std::set<std::string> all = names_in("/sys/class/net");
    CHECK(all.contains(own) && all.contains("lo"), "%s isn't there", own);
    CHECK(!all.contains("first0") || std::string(own) == "first0", "a device of another namespace is there");
    CHECK(!all.contains("other0") || std::string(own) == "other0", "a device of another namespace is there");
    CHECK(names_in("/mnt").contains("ifindex"), "the device's directory isn't mounted");
}

void make_device(const std::string& name) {
    zdtm::output_of("ip link add " + name + " type ifb");
    zdtm::mount_on("/sys", "sysfs");
    zdtm::bind_on("/sys/class/net/" + name + "/", "/mnt");
}

}  // namespace

ZDTM("children in private network and mount namespaces, whose sysfs shows the devices of their namespace") {
    const auto start = [&](const char* name, bool user) {
        return me.start_child([name, user](zdtm::Task& task) {
            if (user)
                zdtm::become_root_inside();
            zdtm::enter_new_network();
            zdtm::enter_new_mounts();
            make_device(name);
            check_devices(name);
            task.wait_for_check();
            check_devices(name);
        });
    };
    const pid_t first = start("first0", false);
    const pid_t other = start("other0", false);
    const pid_t user = start("user0", true);
    me.wait_for_check();
    me.finish(first);
    me.finish(other);
    me.finish(user);
}
