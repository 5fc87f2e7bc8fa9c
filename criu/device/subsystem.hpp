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

/// Interface between criu and support for a device with state, such as a GPU. Built-in subsystems and the adapter for
/// plugins implement it. All functions throw Error to fail the command.
///
/// A subsystem that has nothing in the tree must claim nothing, wait for nothing and fail nothing.
namespace criu::device {

/// A mapping whose file isn't a regular one.
struct MappedDevice {
    HostPid pid;
    const kernel::Vma& vma;
    int fd = -1;          ///< opened with O_PATH
    struct stat stat {};  ///< status of the file
};

/// Names of subsystems in inventory.img. A dump adds each subsystem with data in the images. In a restore each
/// subsystem removes its name; a remaining name fails the restore.
struct Inventory {
    bool listed = true;  ///< false: older images without a list
    std::vector<std::string> names;
};

/// Objects that both halves use. Outlives both.
struct Context {
    const model::Options& options;
    Log& log;
    const ImageDir& images;
    Inventory& inventory;
    /// Polled in long operations of the coordinator. Restored processes don't poll it, since the coordinator kills
    /// them.
    StopRequest& stop;
    /// Observer of moved contents, for progress and trace. May change until dumpLate() or startWork().
    const memory::ReadWatch& watch;
    /// Dump: sinks for contents, like process memory. Null in a restore.
    memory::PageSinks* sinks = nullptr;
    /// Restore: sources of contents. Null in a dump.
    const memory::PageSources* sources = nullptr;
    /// Restore: inherited and stored descriptors. Null in a dump.
    kernel::FdStore* store = nullptr;
    /// Restore: the tree. Null in a dump.
    const model::ProcessTree* tree = nullptr;
};

/// Notified of processes that no subsystem changes any more. May be empty.
using ProcessCheckpointed = std::function<void(HostPid)>;

/// One dump. Destruction without release() means that the dump has failed: the destructor makes stopped devices work
/// again.
class DeviceDump {
public:
    virtual ~DeviceDump() = default;

    /// True if quiesce() may have work, because the device may exist.
    [[nodiscard]] virtual bool wantsQuiesce() { return false; }
    /// Quiesces devices of the current processes before any process is stopped, while processes can still answer each
    /// other. Called again as long as it returns true, since the tree may have new processes.
    virtual bool quiesce(std::span<const HostPid> /*processes*/) { return false; }
    /// Called before a process is stopped; others may be stopped already.
    virtual void pause(HostPid) {}
    /// Checkpoints a frozen process. Called for each live one, after all are frozen and before any of them is read. The
    /// caller is the tracer; it may let one thread run (compel::SingleThreadRun) during the call. Changes to memory and
    /// descriptors become part of the dump.
    virtual void checkpoint(compel::FrozenProcess&) {}
    /// Checkpoints all processes, for drivers that can do several at once. May call `settled`, in the calling thread,
    /// for each finished process; criu then reads its memory early.
    virtual void checkpointAll(std::span<compel::FrozenProcess* const> processes, const ProcessCheckpointed& settled);
    /// True if checkpointAll() may change a process. Then no earlier subsystem reports a process as settled.
    [[nodiscard]] virtual bool checkpoints() const { return false; }
    /// True if checkpointing will change this frozen process.
    [[nodiscard]] virtual bool willCheckpoint(HostPid) const { return false; }
    /// True if the process inherited the mapping, but can't use it. The subsystem claims it, and relocate() reserves
    /// its addresses. `fd` and `stat` of the mapping aren't set.
    virtual bool isUnusable(const MappedDevice&) { return false; }
    /// True if this subsystem saves a mapping's content.
    virtual bool claims(const MappedDevice&) { return false; }
    /// True if dump() may handle the descriptor.
    virtual bool claims(const files::OpenFd&) { return false; }
    /// Saves an open file under the given id; criu closes the descriptor then. False if the subsystem doesn't handle
    /// the file.
    virtual bool dump(const files::OpenFd&, FileId) { return false; }
    /// True if takeSocket() may handle a Unix socket with a peer outside of the tree.
    [[nodiscard]] virtual bool takesSockets() const { return false; }
    /// Saves an external socket; the caller owns `fd`. True if openSocket() will restore it.
    virtual bool takeSocket(int /*fd*/, std::uint32_t /*inode*/) { return false; }
    /// Saves a mount whose source is outside of the tree; `mountPoint` is its path in the tree. True if putMount() will
    /// restore it.
    virtual bool takeMount(const std::string& /*mountPoint*/, int /*id*/) { return false; }
    /// Saves a network device of a kind unknown to criu. `index`, `type` (ARPHRD_…) and `kind` (may be empty) are the
    /// values of rtnetlink(7). The caller is in its network namespace. True if the subsystem, or the user who prepares
    /// the namespace, restores it.
    virtual bool takeLink(int /*index*/, int /*type*/, const std::string& /*kind*/) { return false; }
    /// Called once, when all processes and their memory are dumped.
    virtual void dumpLate(HostPid /*root*/) {}
    /// Called when the images are complete. `tasksResume`: the processes will run, so stopped devices must work again,
    /// or the dump fails. Otherwise criu kills the processes.
    virtual void release(bool tasksResume) = 0;
    /// Called after all subsystems are released: the dump has succeeded.
    virtual void finish() noexcept {}
};

/// A mapping to restore.
struct DeviceMapping {
    std::string_view path;  ///< path of the device at the dump
    std::uint64_t start = 0;
    std::uint64_t offset = 0;  ///< at the dump
};

/// File and offset of a restored mapping.
struct Relocated {
    std::uint64_t offset = 0;  ///< offset that the driver accepts
    UniqueFd fd;               ///< file to map; empty: open the path
    /// Position of the mapping behind `offset`. A mapping that was split may begin in the middle of what a driver maps
    /// only from its beginning.
    std::uint64_t skipped = 0;
    /// Size that the driver requires from `offset` on; 0: any.
    std::uint64_t whole = 0;
};

/// Addresses of an Internet socket to restore: four words in network byte order, of which AF_INET uses the first.
struct InetAddresses {
    std::uint32_t family = 0;
    std::uint32_t state = 0;  ///< TCP_ESTABLISHED …
    std::span<std::uint32_t, 4> source;
    std::span<std::uint32_t, 4> destination;
};

/// Control groups of the processes to restore.
struct ProcessGroups {
    /// Returns a number that is equal for processes with equal control groups.
    std::function<std::uint32_t(TreePid)> setOf;
    /// Runs a function in a new process, in the control groups of a restored process and in criu's namespaces. Results
    /// must go to shared memory. Throws Error if the function throws.
    std::function<void(TreePid, const std::function<void()>&)> visit;
};

/// A restored process before it is resumed.
struct ResumedProcess {
    compel::FrozenProcess* process = nullptr;
    TreePid pid;  ///< pid in the images
};

/// One restore. The coordinator creates the object; copies of it made by fork work in restored processes.
class DeviceRestore {
public:
    virtual ~DeviceRestore() = default;

    /// Coordinator: reads images; no process exists.
    virtual void prepare(files::FileRestore&) {}
    enum class GpuName { NoGpus, Unknown, Known };
    /// Coordinator, after prepare(): looks up a GPU of --gpu-map in the images. criu ignores mappings of other
    /// subsystems' GPUs.
    [[nodiscard]] virtual GpuName findGpu(const std::string& /*name*/) const { return GpuName::NoGpus; }
    /// Coordinator: creates descriptors for restored processes, as inherited or stored descriptors.
    virtual void share(kernel::FdStore&) {}
    /// Returns the maximum number of inherited descriptors that share() and restored processes add.
    [[nodiscard]] virtual std::size_t descriptors() const { return 0; }
    /// Coordinator: true if the subsystem restores the file, as far as known before opening it.
    [[nodiscard]] virtual bool owns(FileId) const { return false; }
    /// Coordinator: returns files that the same process must open before this one.
    [[nodiscard]] virtual std::vector<FileId> needs(FileId, const files::FileRestore&) const { return {}; }
    /// Coordinator: true if the file must be opened after all others.
    [[nodiscard]] virtual bool late(FileId) const { return false; }
    /// Coordinator: true if the process should open the file before long operations, because opening starts work in the
    /// coordinator.
    [[nodiscard]] virtual bool early(FileId) const { return false; }
    /// Coordinator: examines which devices a control group permits. Groups exist, processes don't.
    virtual void visitGroups(const ProcessGroups&) {}
    /// Coordinator: starts threads; the tree is being created.
    virtual void startWork() {}
    /// Coordinator: ends all threads since startWork(). Called after success or failure, before shared objects are
    /// destroyed.
    virtual void endWork() noexcept {}

    enum class Opened { Done, NotMine, NotYet };
    /// Restored process: opens a file and passes it to opener.provide(). NotYet: criu calls again after opening other
    /// files.
    virtual Opened open(FileId, files::FileOpener&) { return Opened::NotMine; }
    /// Restored process: returns a socket of takeSocket(); empty if the subsystem doesn't handle it.
    virtual UniqueFd openSocket(std::uint32_t /*inode*/) { return {}; }
    /// Root of the tree, while its root directory is criu's: mounts the mount of takeMount() on `path`. False if the
    /// subsystem doesn't handle it.
    virtual bool putMount(int /*id*/, const std::string& /*path*/) { return false; }
    /// Restored process: called when all processes have their files.
    virtual void complete(FileId, files::PlacedFiles&) {}
    /// Coordinator: replaces addresses of a socket. False if the subsystem doesn't change it.
    virtual bool updateInetSocket(const InetAddresses&) { return false; }
    /// Restored process: returns the new file and offset of a mapping. Nothing if the subsystem doesn't handle it or it
    /// hasn't moved.
    virtual std::optional<Relocated> relocate(const DeviceMapping&) { return std::nullopt; }

    /// Coordinator: restores device state of a process. Called once for each live process, when memory, descriptors,
    /// credentials, registers, signal masks and rseq areas are restored. All processes are frozen, the caller is the
    /// tracer, and none has executed an instruction. The tracer may let one thread run (compel::SingleThreadRun) during
    /// the call. criu resumes the tree after all calls. `TreePid`: pid in the images.
    virtual void resume(compel::FrozenProcess&, TreePid) {}
    /// Restores device state of all processes, for drivers that can do several at once.
    virtual void resumeAll(std::span<const ResumedProcess> processes);
    /// Coordinator: called at the end, when the tree runs. A failed restore doesn't call it.
    virtual void finish() noexcept {}
};

/// A feature of `criu check --feature`. Names NAME_… are parts of NAME and shown with it.
struct Feature {
    std::string name;
    std::string purpose;         ///< use of the feature in a few words, for `criu check --feature list`
    std::function<bool()> test;  ///< may throw Error with the reason
    /// True if `criu check --extra` tests it, because the device exists. May throw Error if it doesn't.
    std::function<bool()> matters;
    /// Returns additional lines for `criu check --feature`: devices, versions. May be empty.
    std::function<std::vector<std::string>()> details = {};
};

/// Support for one driver, without state of a run.
class Subsystem {
public:
    virtual ~Subsystem() = default;
    /// Name for --no-device.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// Name in inventory.img.
    [[nodiscard]] virtual std::string_view inventoryName() const { return name(); }
    /// Names of CRIU plugins that this subsystem replaces. criu doesn't load plugins with these file names (without
    /// .so) or plugin names.
    [[nodiscard]] virtual std::vector<std::string_view> replacesPlugins() const { return {}; }
    /// True for plugins: a plugin itself checks the inventory for its name.
    [[nodiscard]] virtual bool isPlugin() const { return false; }
    virtual std::unique_ptr<DeviceDump> startDump(const Context&) = 0;
    virtual std::unique_ptr<DeviceRestore> startRestore(const Context&) = 0;
    /// Makes processes of a failed dump work again. The dump failed in this process, or in a child that called
    /// startDump() and may have been killed. Processes run again if criu could resume them. Both processes call it; the
    /// second call finds nothing to do.
    virtual void rescue(Log&, const ImageDir& /*of the dump*/) noexcept {}
    /// Logs the device state that a pre-dump leaves out, since it takes process memory only.
    virtual void notePreDump(std::span<const HostPid> /*processes*/, Log&) {}
    [[nodiscard]] virtual std::vector<Feature> features() const { return {}; }
    /// Returns the subsystem's listener for stages of a dump or restore, in the working process; null if there is none.
    /// The subsystem owns it.
    [[nodiscard]] virtual model::StageListener* stageListener() { return nullptr; }
};

}  // namespace criu::device
