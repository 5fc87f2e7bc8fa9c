// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/restore_devices.hpp"

#include <fcntl.h>

#include <compel/process.hpp>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/image/record.hpp"
#include "criu/memory/pages/read_watch.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "images/inventory.hpp"

namespace criu::device {

RestoreDevices::RestoreDevices(const Inputs& inputs, Empty)
    : watch_(std::make_unique<memory::ReadWatch>()), context_{inputs.options, inputs.log,  inputs.images, inventory_,
                                                              inputs.stop,    *watch_,     nullptr,       &inputs.pages,
                                                              &inputs.store,  &inputs.tree} {}

// Delegates to another constructor: after it, the destructor runs even if a later subsystem throws, and reverts the
// started restores.
RestoreDevices::RestoreDevices(const Inputs& inputs) : RestoreDevices(inputs, Empty()) {
    const PluginsEntry* const listed = inputs.inventory.plugins_entry;
    inventory_.listed = listed != nullptr;
    std::vector<std::string>& wanted = inventory_.names;
    if (listed != nullptr)
        for (const char* const name : list(listed->plugins, listed->n_plugins))
            wanted.emplace_back(name);
    for (const auto& subsystem : inputs.subsystems) {
        const auto found = std::find(wanted.begin(), wanted.end(), subsystem->inventoryName());
        if (listed != nullptr && found == wanted.end() && !subsystem->isPlugin())
            continue;
        if (found != wanted.end() && !subsystem->isPlugin())
            wanted.erase(found);
        parts_.push_back({subsystem.get(), subsystem->startRestore(context_)});
    }
    if (wanted.empty())
        return;
    Error error(0, fmt::format("the images can't be restored without the plugin {}", wanted.front()));
    error.addHint(inputs.options.disabledDevices.empty()
                      ? "give the plugin's directory with --libdir"
                      : "take away --no-device, or give the plugin's directory with --libdir");
    throw error;
}

RestoreDevices::~RestoreDevices() {
    while (!parts_.empty())
        parts_.pop_back();
}

void RestoreDevices::watch(const memory::ReadWatch& watch) {
    *watch_ = watch;
}

void RestoreDevices::prepare(files::FileRestore& files) {
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        part.restore->prepare(files);
    }
    requireKnownGpus();
}

/// Throws Error for a name of --gpu-map that no subsystem knows. The check is here, because a single subsystem ignores
/// names that may belong to other subsystems.
void RestoreDevices::requireKnownGpus() const {
    using GpuName = DeviceRestore::GpuName;
    for (const model::GpuMapping& mapping : context_.options.gpuMap) {
        bool unknown = false;
        const bool known = std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
            const GpuName answer = part.restore->findGpu(mapping.from);
            unknown = unknown || answer == GpuName::Unknown;
            return answer == GpuName::Known;
        });
        if (!known && unknown)
            fail("--gpu-map {}={}: the images have no GPU '{}', or several", mapping.from, mapping.to, mapping.from);
    }
}

void RestoreDevices::share(kernel::FdStore& store) {
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        part.restore->share(store);
    }
}

void RestoreDevices::visitGroups(const ProcessGroups& groups) {
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        part.restore->visitGroups(groups);
    }
}

std::size_t RestoreDevices::descriptors() const {
    std::size_t sum = 0;
    for (const Part& part : parts_)
        sum += part.restore->descriptors();
    return sum;
}

std::vector<FileId> RestoreDevices::needs(FileId id, const files::FileRestore& files) const {
    for (const Part& part : parts_)
        if (part.restore->owns(id))
            return part.restore->needs(id, files);
    return {};
}

bool RestoreDevices::late(FileId id) const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [&](const Part& part) { return part.restore->owns(id) && part.restore->late(id); });
}

bool RestoreDevices::early(FileId id) const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [&](const Part& part) { return part.restore->owns(id) && part.restore->early(id); });
}

std::unique_ptr<DeviceWork> RestoreDevices::startWork() {
    auto work = std::make_unique<DeviceWork>(*this);
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        part.restore->startWork();
    }
    return work;
}

DeviceWork::~DeviceWork() {
    for (auto part = devices_.parts_.rbegin(); part != devices_.parts_.rend(); ++part)
        part->restore->endWork();
}

bool RestoreDevices::open(FileId id, files::FileOpener& opener) const {
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        const auto opened = part.restore->open(id, opener);
        if (opened != DeviceRestore::Opened::NotMine)
            return opened == DeviceRestore::Opened::Done;
    }
    fail("file {} was dumped by a plugin, but none that is there restores it", id);
}

void RestoreDevices::putMount(int id, const std::string& path) const {
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        if (part.restore->putMount(id, path))
            return;
    }
    fail("it was dumped by a plugin, but none that is there restores it");
}

UniqueFd RestoreDevices::openSocket(std::uint32_t inode) const {
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        if (UniqueFd fd = part.restore->openSocket(inode))
            return fd;
    }
    return {};
}

void RestoreDevices::complete(FileId id, files::PlacedFiles& files) const {
    for (const Part& part : parts_)
        if (part.restore->owns(id)) {
            const ErrorContext context([&] { return part.subsystem->name(); });
            part.restore->complete(id, files);
        }
}

void RestoreDevices::updateInetSocket(const InetAddresses& socket) const {
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        if (part.restore->updateInetSocket(socket))
            return;
    }
}

Relocated RestoreDevices::relocate(const DeviceMapping& mapping) const {
    Relocated where{mapping.offset, {}};
    for (const Part& part : parts_) {
        const ErrorContext context([&] { return part.subsystem->name(); });
        if (auto found = part.restore->relocate(mapping)) {
            where = std::move(*found);
            break;
        }
    }
    if (!where.fd)
        where.fd.reset(sys(::open(std::string(mapping.path).c_str(), O_RDWR | O_CLOEXEC), "open {}", mapping.path));
    return where;
}

void RestoreDevices::resume(std::span<const ResumedProcess> processes) {
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
        const ErrorContext context([&] { return fmt::format("{}: resume", part->subsystem->name()); });
        part->restore->resumeAll(processes);
    }
}

void RestoreDevices::finish() noexcept {
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part)
        part->restore->finish();
}

}  // namespace criu::device
