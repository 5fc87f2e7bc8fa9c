// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/dump_devices.hpp"

#include <compel/process.hpp>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/refused.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "criu/model/options.hpp"

namespace criu::device {

DumpDevices::DumpDevices(const model::Options& options, Log& log, const ImageDir& images, memory::PageSinks& pages,
                         StopRequest& stop, Refusals& refusals)
    : watch_(std::make_unique<memory::ReadWatch>()), context_{options, log, images, inventory_, stop, *watch_, &pages} {
    context_.refusals = &refusals;
}

// Delegates to another constructor: after it, the destructor runs even if a later subsystem throws, and reverts the
// started dumps.
DumpDevices::DumpDevices(const Subsystems& subsystems, const model::Options& options, Log& log, const ImageDir& images,
                         memory::PageSinks& pages, StopRequest& stop, Refusals& refusals)
    : DumpDevices(options, log, images, pages, stop, refusals) {
    context_.pluginsDumpFiles = std::any_of(subsystems.begin(), subsystems.end(),
                                            [](const auto& subsystem) { return subsystem->dumpsFiles(); });
    for (const auto& subsystem : subsystems)
        parts_.push_back({subsystem.get(), subsystem->startDump(context_)});
}

DumpDevices::~DumpDevices() {
    while (!parts_.empty())
        parts_.pop_back();
}

void DumpDevices::pause(HostPid pid) {
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return fmt::format("{}: pause process {}", part.subsystem->name(), pid); });
        part.dump->pause(pid);
    }
}

bool DumpDevices::wantQuiesce() {
    return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.dump->wantsQuiesce(); });
}

bool DumpDevices::quiesce(std::span<const HostPid> processes) {
    bool done = false;
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        done = part.dump->quiesce(processes) || done;
    }
    return done;
}

std::string_view DumpDevices::whoCheckpoints(HostPid pid) const {
    const auto found =
        std::find_if(parts_.begin(), parts_.end(), [pid](const Part& part) { return part.dump->willCheckpoint(pid); });
    return found != parts_.end() ? found->subsystem->name() : std::string_view();
}

bool DumpDevices::isLeftToCheckpoint(HostPid pid, const struct stat& stat) const {
    return context_.options.dryRun && S_ISCHR(stat.st_mode) && !whoCheckpoints(pid).empty();
}

void DumpDevices::checkpoint(std::span<compel::FrozenProcess* const> processes, const ProcessCheckpointed& settled) {
    // Passes `settled` only to the last subsystem that checkpoints, because an earlier one doesn't know whether a later
    // one changes the process.
    const auto last =
        std::find_if(parts_.rbegin(), parts_.rend(), [](const Part& part) { return part.dump->checkpoints(); });
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return fmt::format("{}: checkpoint", part.subsystem->name()); });
        part.dump->checkpointAll(processes, last != parts_.rend() && &*last == &part ? settled : ProcessCheckpointed());
    }
}

bool DumpDevices::isUnusable(const MappedDevice& mapped) {
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.dump->isUnusable(mapped); });
}

bool DumpDevices::claims(const MappedDevice& mapped) {
    if (isLeftToCheckpoint(mapped.pid, mapped.stat))
        return true;
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
        const ErrorContext context(
            [&] { return fmt::format("{}: memory at {:#x}", part.subsystem->name(), mapped.vma.start); });
        return part.dump->claims(mapped);
    });
}

bool DumpDevices::claims(const files::OpenFd& file) {
    if (isLeftToCheckpoint(file.pid, file.stat))
        return true;
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) { return part.dump->claims(file); });
}

void DumpDevices::dump(const files::OpenFd& file, FileId id) {
    if (context_.options.dryRun)
        return;
    const bool taken = std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
        const ErrorContext context([&] { return fmt::format("{}: {}", part.subsystem->name(), file.describe()); });
        return part.dump->claims(file) && part.dump->dump(file, id);
    });
    if (!taken)
        files::refuseFile(file);
}

bool DumpDevices::takesSockets() const {
    return std::any_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.dump->takesSockets(); });
}

bool DumpDevices::takeSocket(int fd, std::uint32_t inode) {
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
        const ErrorContext context([&] { return fmt::format("{}: socket:[{}]", part.subsystem->name(), inode); });
        return part.dump->takeSocket(fd, inode);
    });
}

bool DumpDevices::takeMount(const std::string& mountPoint, int id) {
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        return part.dump->takeMount(mountPoint, id);
    });
}

bool DumpDevices::takeLink(int index, int type, const std::string& kind) {
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
        const ErrorContext context([&] { return fmt::format("{}: network device {}", part.subsystem->name(), index); });
        return part.dump->takeLink(index, type, kind);
    });
}

void DumpDevices::dumpLate(HostPid root, const memory::ReadWatch& watch) {
    // Clears the watch at the end: when subsystems revert their work, the counters in the watch may not exist any more.
    const struct Watching {
        Watching(memory::ReadWatch& all, const memory::ReadWatch& watch) : watch_(all) { watch_ = watch; }
        ~Watching() { watch_ = {}; }
        memory::ReadWatch& watch_;
    } watching(*watch_, watch);
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        part.dump->dumpLate(root);
    }
}

void DumpDevices::release(bool tasksResume) {
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
        const ErrorContext context([&] { return part->subsystem->name(); });
        part->dump->release(tasksResume);
    }
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
        part->dump->finish();
}

}  // namespace criu::device
