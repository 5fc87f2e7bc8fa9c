// SPDX-License-Identifier: GPL-2.0-only
#include "criu/cgroup/thawed_groups.hpp"

#include <fcntl.h>

#include "criu/base/error.hpp"
#include "criu/base/journal.hpp"
#include "criu/base/log.hpp"
#include "criu/cgroup/hierarchies.hpp"
#include "criu/cgroup/properties.hpp"
#include "criu/kernel/names/folder_record.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::cgroup {
namespace {

constexpr const char* kFreezeFile = "cgroup.freeze";
constexpr std::string_view kFreezeLater = "freeze it at the stage pre-resume, or after the restore";

/// Returns true if a process is in the cgroup or below it (cgroup.events, Linux 4.5).
bool isPopulated(int group) {
    const UniqueFd file(sys(::openat(group, "cgroup.events", O_RDONLY | O_CLOEXEC), "open cgroup.events"));
    kernel::ProcBuffer buffer;
    return buffer.fill(file.get(), "cgroup.events").find("populated 1") != std::string_view::npos;
}

/// Throws Error if the freezer of version 1 has frozen a cgroup.
void requireThawed(int group, const std::string& name) {
    const auto state = readProperty(group, "freezer.state");
    if (!state || state->value == "THAWED")
        return;
    Error error(0, fmt::format("{} is frozen, so no process could be restored in it", name));
    error.addHint(kFreezeLater);
    throw error;
}

}  // namespace

ThawedGroups::~ThawedGroups() {
    try {
        freeze();
    } catch (const std::exception& error) {
        log_.warn("A cgroup is left thawed: {}", error.what());
    }
}

void ThawedGroups::thaw(int root, const std::string& controllers, const std::string& path) {
    if (!controllers.empty()) {
        if ((',' + controllers + ',').find(",freezer,") != std::string::npos)
            requireThawed(openGroup(root, path).get(), label(controllers, path));
        return;
    }
    // The kernel freezes a cgroup if a cgroup above it is frozen. The root of a hierarchy has no cgroup.freeze.
    for (std::size_t end = path.size(); end != 0 && end != std::string::npos; end = path.rfind('/', end - 1)) {
        const std::string each = path.substr(0, end);
        UniqueFd group = openGroup(root, each);
        const auto state = readProperty(group.get(), kFreezeFile);
        if (!state || state->value != "1")
            continue;
        if (isPopulated(group.get())) {
            Error error(0, fmt::format("cgroup {} is frozen, and other processes are in it", each));
            error.addHint(kFreezeLater);
            throw error;
        }
        log_.info("Thawed cgroup {} for the time of the restore", each);
        record("thaw", group.get());
        writeFile(group.get(), kFreezeFile, "0");
        groups_.push_back({std::move(group), each});
    }
}

void ThawedGroups::recordFrozenLater(int group) const {
    record("freezes", group);
}

void ThawedGroups::record(std::string_view kind, int group) const {
    if (!log_.journal().isOpen())
        return;
    const auto folder = kernel::FolderRecord::of(group);
    log_.journal().record({kind, folder.identity(), folder.path()});
}

void ThawedGroups::freeze() {
    for (; !groups_.empty(); groups_.pop_back()) {
        const ErrorContext context([&] { return fmt::format("freeze cgroup {}", groups_.back().path); });
        writeFile(groups_.back().fd.get(), kFreezeFile, "1");
    }
}

}  // namespace criu::cgroup
