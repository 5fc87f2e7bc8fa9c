// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "criu/device/subsystem.hpp"
#include "images/inventory.fwd.hpp"

namespace criu::device {

class DeviceWork;

/// All subsystems of one restore: those that the images want.
class RestoreDevices {
public:
    /// Throws Error if the inventory wants a subsystem that isn't among `subsystems`.
    RestoreDevices(const Subsystems& subsystems, const InventoryEntry& inventory, const model::ProcessTree& tree,
                   const model::Options& options, Log& log, const ImageDir& images, const memory::PageSources& pages,
                   StopRequest& stop, kernel::FdStore& store);
    ~RestoreDevices();
    RestoreDevices(const RestoreDevices&) = delete;
    RestoreDevices& operator=(const RestoreDevices&) = delete;

    void prepare(files::FileRestore& files);
    void share(kernel::FdStore& store);
    /// Who is notified, in the master and in targets, of contents that are loaded. Before startWork().
    void watch(const memory::ReadWatch& watch);
    [[nodiscard]] std::size_t descriptors() const;
    [[nodiscard]] std::vector<FileId> needs(FileId id, const files::FileRestore& files) const;
    [[nodiscard]] bool late(FileId id) const;
    [[nodiscard]] bool early(FileId id) const;
    void visitGroups(const ProcessGroups& groups);
    /// Has subsystems begin what they do beside the processes. That ends with the returned object, which must not
    /// outlive this one, nor what watch() was given.
    [[nodiscard]] std::unique_ptr<DeviceWork> startWork();

    /// Target. False: not yet.
    [[nodiscard]] bool open(FileId id, files::FileOpener& opener) const;
    /// Target: empty if nobody takes it.
    [[nodiscard]] UniqueFd openSocket(std::uint32_t inode) const;
    /// Target: throws Error if nobody takes it.
    void putMount(int id, const std::string& path) const;
    void complete(FileId id, files::PlacedFiles& files) const;
    /// Target: throws Error if nobody knows the mapping and its path can't be opened.
    [[nodiscard]] Relocated relocate(const DeviceMapping& mapping) const;

    /// Master: after this, the devices of all processes work.
    void resume(std::span<const ResumedProcess> processes);
    void finish() noexcept;

private:
    friend class DeviceWork;
    struct Part {
        const Subsystem* subsystem = nullptr;
        std::unique_ptr<DeviceRestore> restore;
    };
    RestoreDevices(const model::ProcessTree& tree, const model::Options& options, Log& log, const ImageDir& images,
                   const memory::PageSources& pages, StopRequest& stop, kernel::FdStore& store);

    void requireKnownGpus() const;

    Inventory inventory_;
    std::unique_ptr<memory::ReadWatch> watch_;
    Context context_;
    std::vector<Part> parts_;
};

/// What subsystems do beside the processes, as long as it exists.
class DeviceWork {
public:
    explicit DeviceWork(RestoreDevices& devices) : devices_(devices) {}
    ~DeviceWork();
    DeviceWork(const DeviceWork&) = delete;
    DeviceWork& operator=(const DeviceWork&) = delete;

private:
    RestoreDevices& devices_;
};

}  // namespace criu::device
