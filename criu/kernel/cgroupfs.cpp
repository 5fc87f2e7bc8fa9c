// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/cgroupfs.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <exception>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/kernel/scan.hpp"

namespace criu::kernel {

UniqueFd openHierarchy(const std::string& controllers) {
    const bool unified = controllers.empty();
    return inContext(
        [&] { return fmt::format("cgroup hierarchy {}", unified ? "of version 2" : controllers); },
        [&] {
            const UniqueFd context(sys(::fsopen(unified ? "cgroup2" : "cgroup", FSOPEN_CLOEXEC), "open it"));
            const auto set = [&](unsigned command, const std::string& key, const char* value) {
                sys(::fsconfig(context.get(), command, key.c_str(), value, 0), "choose {}", key);
            };
            constexpr std::string_view kNamed = "name=";
            Scanner names(controllers);
            while (!names.done()) {
                const std::string name(names.until(','));
                names.skip(',');
                if (name.starts_with(kNamed)) {
                    if (names.done() && name.size() == controllers.size())
                        set(FSCONFIG_SET_FLAG, "none", nullptr);
                    set(FSCONFIG_SET_STRING, "name", name.c_str() + kNamed.size());
                } else {
                    set(FSCONFIG_SET_FLAG, name, nullptr);
                }
            }
            sys(::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), "find it");
            UniqueFd mount(sys(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0), "mount it"));
            // fsmount's descriptor is of the kind O_PATH.
            return UniqueFd(sys(::openat(mount.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open its root"));
        });
}

std::vector<CgroupLine> readCgroupsInside(const ProcPid& process) {
    std::vector<CgroupLine> groups;
    std::exception_ptr failure;
    // Who reads decides what is seen, and each thread has a cgroup namespace of its own.
    std::thread reader([&] {
        try {
            const UniqueFd space = process.open("ns/cgroup", O_RDONLY);
            sys(::setns(space.get(), CLONE_NEWCGROUP), "enter the cgroup namespace of {}", process.path());
            ProcBuffer buffer;
            groups = readCgroups(process, buffer);
        } catch (...) {
            failure = std::current_exception();
        }
    });
    reader.join();
    if (failure)
        std::rethrow_exception(failure);
    return groups;
}

}  // namespace criu::kernel
