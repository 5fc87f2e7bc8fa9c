// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/device/subsystems.hpp"

namespace compel {
class FrozenProcess;
}

namespace criu {
class ImageDir;
class Log;
class Refusals;
class StopRequest;
}  // namespace criu

namespace criu::kernel {
class FdStore;
struct Vma;
}  // namespace criu::kernel

namespace criu::memory {
class PageSinks;
class PageSources;
struct ReadWatch;
}  // namespace criu::memory

namespace criu::model {
struct Options;
struct ProcessTree;
class StageListener;
}  // namespace criu::model

namespace criu::files {
class FileOpener;
class FileRestore;
class PlacedFiles;
struct OpenFd;
}  // namespace criu::files

/// Interface between criu and the code that supports one kind of device with state, such as GPUs. Built-in subsystems
/// and the adapter for plugins implement it. A function throws Error to fail the command.
///
/// If the tree doesn't use the devices of a subsystem, the subsystem must claim nothing, wait for nothing and fail
/// nothing.
namespace criu::device {

/// Mapping of a file that isn't a regular file.
struct MappedDevice {
    HostPid pid;
    const kernel::Vma& vma;
    int fd = -1;          ///< descriptor of the mapped file, opened with O_PATH
    struct stat stat {};  ///< status of the mapped file
};

/// Names of subsystems in inventory.img. A dump adds each subsystem that has data in the images. In a restore, each
/// subsystem removes its name. If a name is left, criu fails the restore.
struct Inventory {
    bool listed = true;  ///< false for older images, which have no list
    std::vector<std::string> names;
};

/// Objects that the dump half or the restore half of a subsystem uses. The context outlives both halves.
struct Context {
    const model::Options& options;
    Log& log;
    const ImageDir& images;
    Inventory& inventory;
    /// Stop request. Long operations of the coordinator must check it. Restored processes don't check it, because the
    /// coordinator kills them.
    StopRequest& stop;
    /// Observer that subsystems notify of moved contents, for the progress line and the trace. It may change until
    /// dumpLate() or startWork().
    const memory::ReadWatch& watch;
    /// Sinks for contents in a dump, like those for process memory; nullptr in a restore.
    memory::PageSinks* sinks = nullptr;
    /// Sources of contents in a restore; nullptr in a dump.
    const memory::PageSources* sources = nullptr;
    /// Inherited and stored descriptors in a restore; nullptr in a dump.
    kernel::FdStore* store = nullptr;
    /// Tree of the images in a restore; nullptr in a dump.
    const model::ProcessTree* tree = nullptr;
    /// Refusals of a dump, all of which a dry run reports; nullptr in a restore.
    Refusals* refusals = nullptr;
    /// True if a plugin may dump files that criu can't dump (hook DUMP_EXT_FILE).
    bool pluginsDumpFiles = false;
};

/// Function that is called for each process that no subsystem will change any more. It may be empty.
using ProcessCheckpointed = std::function<void(HostPid)>;

/// Dump half of a subsystem, for one dump. If the destructor runs without release(), the dump has failed, and the
/// destructor makes stopped devices work again.
class DeviceDump {
public:
    virtual ~DeviceDump() = default;

    /// Returns true if quiesce() may have work to do, because the device may exist.
    [[nodiscard]] virtual bool wantsQuiesce() { return false; }
    /// Quiesces devices of the processes before criu stops any process. At this time, processes can still respond to
    /// each other. If it returns true, criu calls it again, because the tree may have new processes.
    virtual bool quiesce(std::span<const HostPid> /*processes*/) { return false; }
    /// Called before criu stops a process; other processes may be stopped already.
    virtual void pause(HostPid) {}
    /// Checkpoints a frozen process. criu calls it for each live process, after it has frozen all processes and before
    /// it reads any of them. So changes to memory and descriptors become part of the dump. The caller is the tracer.
    /// During the call, the subsystem may let one thread run (compel::SingleThreadRun).
    virtual void checkpoint(compel::FrozenProcess&) {}
    /// Checkpoints all processes, for drivers that can checkpoint several at once. May call `settled` for each
    /// completed process, in the calling thread; criu then reads the memory of this process early.
    virtual void checkpointAll(std::span<compel::FrozenProcess* const> processes, const ProcessCheckpointed& settled);
    /// Returns true if checkpointAll() may change a process. Subsystems before this one then report no process as
    /// settled.
    [[nodiscard]] virtual bool checkpoints() const { return false; }
    /// Returns true if checkpoint() will change this frozen process.
    [[nodiscard]] virtual bool willCheckpoint(HostPid) const { return false; }
    /// Returns true if the process has inherited the mapping but can't use it. The subsystem then claims the mapping;
    /// in the restore, relocate() reserves its addresses. `fd` and `stat` of the argument aren't set.
    virtual bool isUnusable(const MappedDevice&) { return false; }
    /// Returns true if this subsystem dumps the content of a mapping.
    virtual bool claims(const MappedDevice&) { return false; }
    /// Returns true if dump() may handle the descriptor.
    virtual bool claims(const files::OpenFd&) { return false; }
    /// Dumps an open file under the given id; criu closes the descriptor afterwards. Returns false if the subsystem
    /// rejects the file.
    virtual bool dump(const files::OpenFd&, FileId) { return false; }
    /// Returns true if takeSocket() may accept a Unix socket whose peer is outside of the tree.
    [[nodiscard]] virtual bool takesSockets() const { return false; }
    /// Dumps an external socket; the caller owns `fd`. Returns true if openSocket() will restore the socket.
    virtual bool takeSocket(int /*fd*/, std::uint32_t /*inode*/) { return false; }
    /// Dumps a mount whose source is outside of the tree. `mountPoint`: path of the mount in the tree. Returns true if
    /// putMount() will restore the mount.
    virtual bool takeMount(const std::string& /*mountPoint*/, int /*id*/) { return false; }
    /// Dumps a network device whose kind criu doesn't know. `index`, `type` (ARPHRD_…) and `kind` (may be empty) are
    /// the values of rtnetlink(7). The caller is in the network namespace of the device. Returns true if either the
    /// subsystem will restore the device, or the user who prepares the namespace.
    virtual bool takeLink(int /*index*/, int /*type*/, const std::string& /*kind*/) { return false; }
    /// Called once, when criu has dumped all processes and their memory.
    virtual void dumpLate(HostPid /*root*/) {}
    /// Called when the images are complete. If `tasksResume` is true, the processes will run again. Stopped devices
    /// must then work again; if one doesn't, throws Error, and the dump fails. If `tasksResume` is false, criu kills
    /// the processes.
    virtual void release(bool tasksResume) = 0;
    /// Called after release() of all subsystems, when the dump has succeeded.
    virtual void finish() noexcept {}
};

/// Mapping of a device to restore.
struct DeviceMapping {
    std::string_view path;  ///< path of the device in the dump
    std::uint64_t start = 0;
    std::uint64_t offset = 0;  ///< offset in the dump
};

/// File and offset of a restored mapping, which may be a relocated mapping.
struct Relocated {
    std::uint64_t offset = 0;  ///< offset that the driver accepts
    UniqueFd fd;               ///< file to map; invalid if the path must be opened
    /// Distance in bytes between `offset` and the start of the mapping. After a split, a mapping may begin in the
    /// middle of an area, although the driver maps this area only from its beginning.
    std::uint64_t skipped = 0;
    /// Size in bytes that the driver requires from `offset` on; 0 if the driver accepts any size.
    std::uint64_t whole = 0;
};

/// Addresses of an Internet socket to restore. Each address has four words in network byte order; AF_INET uses the
/// first word.
struct InetAddresses {
    std::uint32_t family = 0;
    std::uint32_t state = 0;  ///< TCP state, such as TCP_ESTABLISHED
    std::span<std::uint32_t, 4> source;
    std::span<std::uint32_t, 4> destination;
};

/// Access to the cgroups of the processes to restore.
struct ProcessGroups {
    /// Returns a number for the cgroup set of a process. Processes with equal cgroup sets have equal numbers.
    std::function<std::uint32_t(TreePid)> setOf;
    /// Runs a function in a new process. This process is in the cgroups of the given process, and in criu's namespaces.
    /// The function must write its results to shared memory. Throws Error if the function throws.
    std::function<void(TreePid, const std::function<void()>&)> visit;
};

/// Restored process that criu hasn't resumed yet.
struct ResumedProcess {
    compel::FrozenProcess* process = nullptr;
    TreePid pid;  ///< pid in the images
};

/// Restore half of a subsystem, for one restore. The coordinator creates the object. Restored processes have copies of
/// it, because fork creates them.
class DeviceRestore {
public:
    virtual ~DeviceRestore() = default;

    /// Called in the coordinator before any process exists: reads images.
    virtual void prepare(files::FileRestore&) {}
    enum class GpuName { NoGpus, Unknown, Known };
    /// Called in the coordinator after prepare(): searches for a GPU of --gpu-map in the images. Returns NoGpus
    /// if the images contain no GPU of this subsystem.
    [[nodiscard]] virtual GpuName findGpu(const std::string& /*name*/) const { return GpuName::NoGpus; }
    /// Called in the coordinator: creates inherited or stored descriptors for restored processes.
    virtual void share(kernel::FdStore&) {}
    /// Returns the maximal number of inherited descriptors that share() and restored processes add.
    [[nodiscard]] virtual std::size_t descriptors() const { return 0; }
    /// Called in the coordinator: returns true if the subsystem will probably restore the file; it isn't sure before it
    /// opens the file.
    [[nodiscard]] virtual bool owns(FileId) const { return false; }
    /// Called in the coordinator: returns the files that the same process must open before this file.
    [[nodiscard]] virtual std::vector<FileId> needs(FileId, const files::FileRestore&) const { return {}; }
    /// Called in the coordinator: returns true if the file must be opened after all other files.
    [[nodiscard]] virtual bool late(FileId) const { return false; }
    /// Called in the coordinator: returns true if the process should open the file before its long operations, because
    /// opening the file starts work in the coordinator.
    [[nodiscard]] virtual bool early(FileId) const { return false; }
    /// Called in the coordinator when cgroups exist but processes don't: determines which devices each cgroup permits.
    virtual void visitGroups(const ProcessGroups&) {}
    /// Called in the coordinator while the tree is created: starts threads.
    virtual void startWork() {}
    /// Called in the coordinator after success or failure, before shared objects are destroyed: ends all threads that
    /// the subsystem has started since startWork().
    virtual void endWork() noexcept {}

    enum class Opened { Done, NotMine, NotYet };
    /// Called in a restored process: opens a file and passes it to opener.provide(). After the result NotYet, criu
    /// calls it again when other files are open.
    virtual Opened open(FileId, files::FileOpener&) { return Opened::NotMine; }
    /// Called in a restored process: returns a socket that takeSocket() has dumped. Returns an invalid descriptor if
    /// the subsystem rejects it.
    virtual UniqueFd openSocket(std::uint32_t /*inode*/) { return {}; }
    /// Called in the root of the tree, while its root directory is still criu's: mounts at `path` the mount that
    /// takeMount() has dumped. Returns false if the subsystem rejects it.
    virtual bool putMount(int /*id*/, const std::string& /*path*/) { return false; }
    /// Called in a restored process when all processes have their files.
    virtual void complete(FileId, files::PlacedFiles&) {}
    /// Called in the coordinator: replaces addresses of a socket. Returns false if the subsystem doesn't change the
    /// socket.
    virtual bool updateInetSocket(const InetAddresses&) { return false; }
    /// Called in a restored process: returns the new file and offset of a relocated mapping. Returns nullopt if the
    /// subsystem rejects the mapping, or if the mapping isn't relocated.
    virtual std::optional<Relocated> relocate(const DeviceMapping&) { return std::nullopt; }

    /// Called in the coordinator, once for each live process: restores the device state of the process. Memory,
    /// descriptors, credentials, registers, signal masks and rseq areas are already restored. `TreePid`: pid in the
    /// images. All processes are frozen, and no process has executed an instruction of its program. The caller is the
    /// tracer; during the call, the subsystem may let one thread run (compel::SingleThreadRun). criu resumes the tree
    /// after all calls.
    virtual void resume(compel::FrozenProcess&, TreePid) {}
    /// Restores the device state of all processes, for drivers that can restore several at once.
    virtual void resumeAll(std::span<const ResumedProcess> processes);
    /// Called in the coordinator at the end, when the tree runs. Not called if the restore fails.
    virtual void finish() noexcept {}
};

/// Feature of `criu check --feature`. For criu, a feature NAME_… is a part of the feature NAME, and criu shows both
/// together.
struct Feature {
    std::string name;
    std::string purpose;         ///< use of the feature in a few words, for `criu check --feature list`
    std::function<bool()> test;  ///< probes the feature; may throw Error with the reason of a failure
    /// Returns true if `criu check --extra` must test the feature, because the device exists. Without the device,
    /// returns false or throws Error.
    std::function<bool()> matters;
    /// Returns additional lines for `criu check --feature`, such as devices and versions. The function may be empty.
    std::function<std::vector<std::string>()> details = {};
};

/// Support for the devices of one driver. It has no state that belongs to a run.
class Subsystem {
public:
    virtual ~Subsystem() = default;
    /// Returns the name for --no-device.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Returns the name in inventory.img.
    [[nodiscard]] virtual std::string_view inventoryName() const { return name(); }
    /// Returns the names of CRIU plugins that this subsystem replaces. criu doesn't load a plugin with one of these
    /// names as its plugin name or file name (without .so).
    [[nodiscard]] virtual std::vector<std::string_view> replacesPlugins() const { return {}; }
    /// Returns true for plugins. A plugin itself checks whether the inventory contains its name.
    [[nodiscard]] virtual bool isPlugin() const { return false; }
    /// Returns true if dump() of the dump half may handle files that belong to no driver of criu.
    [[nodiscard]] virtual bool dumpsFiles() const { return false; }
    virtual std::unique_ptr<DeviceDump> startDump(const Context&) = 0;
    virtual std::unique_ptr<DeviceRestore> startRestore(const Context&) = 0;
    /// Makes processes of a failed dump work again. The dump has failed in this process, or in a child that called
    /// startDump() and may have been killed. If criu could resume the processes, they run again. Both parent and child
    /// call this; the second call finds nothing to do.
    virtual void rescue(Log&, const ImageDir& /*of the dump*/) noexcept {}
    /// Logs which device state a pre-dump leaves out, because a pre-dump dumps only process memory.
    virtual void notePreDump(std::span<const HostPid> /*processes*/, Log&) {}
    [[nodiscard]] virtual std::vector<Feature> features() const { return {}; }
    /// Returns the subsystem's listener for stages of a dump or restore, in the working process; nullptr if it has
    /// none. The subsystem owns the listener.
    [[nodiscard]] virtual model::StageListener* stageListener() { return nullptr; }
};

}  // namespace criu::device
