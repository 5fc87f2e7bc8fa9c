// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "criu/device/subsystem.hpp"
#include "images/inventory.fwd.hpp"

namespace criu::device {

class DeviceWork;

/// All subsystems that the images of one restore need.
class RestoreDevices {
public:
    struct Inputs {
        const Subsystems& subsystems;
        const InventoryEntry& inventory;
        const model::ProcessTree& tree;
        const model::Options& options;
        Log& log;
        const ImageDir& images;
        const memory::PageSources& pages;
        StopRequest& stop;
        kernel::FdStore& store;
    };
    /// Starts the subsystems. Throws Error if the inventory lists a subsystem that isn't in `subsystems`.
    explicit RestoreDevices(const Inputs& inputs);
    ~RestoreDevices();
    RestoreDevices(const RestoreDevices&) = delete;
    RestoreDevices& operator=(const RestoreDevices&) = delete;

    void prepare(files::FileRestore& files);
    void share(kernel::FdStore& store);
    /// Sets the watch that the coordinator and restored processes notify of loaded contents. Call it before
    /// startWork().
    void watch(const memory::ReadWatch& watch);
    [[nodiscard]] std::size_t descriptors() const;
    [[nodiscard]] std::vector<FileId> needs(FileId id, const files::FileRestore& files) const;
    [[nodiscard]] bool late(FileId id) const;
    [[nodiscard]] bool early(FileId id) const;
    void visitGroups(const ProcessGroups& groups);
    /// Calls startWork() of all subsystems, so that they may start threads in the coordinator. The destructor of the
    /// returned object ends this work. The returned object must not outlive this object or the watch.
    [[nodiscard]] std::unique_ptr<DeviceWork> startWork();

    /// Opens a file in a restored process. Returns false if the caller must try again after it has opened other files.
    [[nodiscard]] bool open(FileId id, files::FileOpener& opener) const;
    /// Opens a socket in a restored process. Returns an invalid descriptor if no subsystem accepts it.
    [[nodiscard]] UniqueFd openSocket(std::uint32_t inode) const;
    /// Restores a mount in a restored process. Throws Error if no subsystem accepts it.
    void putMount(int id, const std::string& path) const;
    void complete(FileId id, files::PlacedFiles& files) const;
    /// Returns the file and the offset of a mapping, in a restored process. If no subsystem returns a file, opens the
    /// path of the mapping. Throws Error.
    [[nodiscard]] Relocated relocate(const DeviceMapping& mapping) const;
    /// Calls updateInetSocket() of the subsystems, so that a plugin can replace addresses of a socket.
    void updateInetSocket(const InetAddresses& socket) const;

    /// Returns true if a subsystem may change memory of processes in resume().
    [[nodiscard]] bool resumes() const noexcept { return !parts_.empty(); }
    /// Restores the device state of all processes. The coordinator calls this.
    void resume(std::span<const ResumedProcess> processes);
    void finish() noexcept;

private:
    friend class DeviceWork;
    struct Part {
        const Subsystem* subsystem = nullptr;
        std::unique_ptr<DeviceRestore> restore;
    };
    struct Empty {};
    /// Makes the object without starting any subsystem.
    RestoreDevices(const Inputs& inputs, Empty);

    void requireKnownGpus() const;

    Inventory inventory_;
    std::unique_ptr<memory::ReadWatch> watch_;
    Context context_;
    std::vector<Part> parts_;
};

/// Work of the subsystems in the coordinator's threads. The destructor ends it.
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
