// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/cgroupfs.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

/// Returns a file system context (fsopen(2)) that selects a cgroup hierarchy by its controllers.
UniqueFd chooseHierarchy(const std::string& controllers) {
    const bool unified = controllers.empty();
    UniqueFd context(sys(::fsopen(unified ? "cgroup2" : "cgroup", FSOPEN_CLOEXEC), "open it"));
    const auto set = [&](unsigned command, const std::string& key, const char* value) {
        sys(::fsconfig(context.get(), command, key.c_str(), value, 0), "choose {}", key);
    };
    constexpr std::string_view kNamed = "name=";
    Scanner names(controllers);
    while (!names.done()) {
        const std::string name(names.until(','));
        names.skip(',');
        if (name.starts_with(kNamed)) {
            if (name.size() == controllers.size())
                set(FSCONFIG_SET_FLAG, "none", nullptr);
            set(FSCONFIG_SET_STRING, "name", name.c_str() + kNamed.size());
        } else {
            set(FSCONFIG_SET_FLAG, name, nullptr);
        }
    }
    return context;
}

UniqueFd openOnce(const std::string& controllers) {
    const UniqueFd context = chooseHierarchy(controllers);
    sys(::fsconfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0), "find it");
    const UniqueFd mount(sys(::fsmount(context.get(), FSMOUNT_CLOEXEC, 0), "mount it"));
    // Opens the root again, because fsmount(2) returns an O_PATH descriptor, and criu can't list directories by it.
    return UniqueFd(sys(::openat(mount.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open its root"));
}

}  // namespace

UniqueFd openHierarchy(const std::string& controllers) {
    constexpr int kTries = 50;
    constexpr useconds_t kPause = 5000;
    const ErrorContext context(
        [&] { return fmt::format("cgroup hierarchy {}", controllers.empty() ? "2" : controllers); });
    for (int tries = 1;; ++tries) {
        try {
            return openOnce(controllers);
        } catch (const Error& error) {
            // The kernel returns EBUSY for a moment, while it removes the last mount of this hierarchy.
            if (error.code() != EBUSY || tries == kTries)
                throw;
        }
        ::usleep(kPause);
    }
}

void enterCgroupsOf(const ProcPid& process) {
    ProcBuffer buffer;
    const std::vector<CgroupLine> own = readCgroups(ProcDir().self(), buffer);
    for (const CgroupLine& line : readCgroups(process, buffer)) {
        if (std::any_of(own.begin(), own.end(), [&line](const CgroupLine& other) {
                return other.hierarchy == line.hierarchy && other.path == line.path;
            }))
            continue;
        if (line.path.starts_with("/.."))
            fail("the cgroup {} of {} is outside of this cgroup namespace", line.path, process.path());
        const UniqueFd root = openHierarchy(fmt::format("{}", fmt::join(line.controllers, ",")));
        const std::string path = fmt::format("./{}/cgroup.procs", line.path);
        const UniqueFd members(
            sys(::openat(root.get(), path.c_str(), O_WRONLY | O_CLOEXEC), "open {} of {}", path, process.path()));
        sys(::write(members.get(), "0", 1), "enter the cgroup {} of {}", line.path, process.path());
    }
}

std::vector<CgroupLine> readCgroupsInside(const ProcPid& process) {
    std::vector<CgroupLine> groups;
    // The kernel shows paths relative to the cgroup namespace of the reading thread. So a new thread enters the
    // namespace and reads the file.
    runInThread([&] {
        const UniqueFd space = process.open("ns/cgroup", O_RDONLY);
        sys(::setns(space.get(), CLONE_NEWCGROUP), "enter the cgroup namespace of {}", process.path());
        ProcBuffer buffer;
        groups = readCgroups(process, buffer);
    });
    return groups;
}

}  // namespace criu::kernel
