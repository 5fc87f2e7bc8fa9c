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

/// What a driver with state of its own (a GPU's) needs of a dump and a restore. Compiled-in subsystems and plugins
/// loaded from files implement the same. All functions throw Error to fail the command.
///
/// A subsystem with nothing in the tree claims nothing, waits for nothing, and fails nothing.
namespace criu::device {

/// A mapping whose file isn't a regular one.
struct MappedDevice {
    HostPid pid;
    const kernel::Vma& vma;
    int fd = -1;          ///< opened O_PATH
    struct stat stat {};  ///< of the file
};

/// Names of subsystems in inventory.img. Dump: those that have something in the images, to be added. Restore: those
/// that the images want, to be taken away by whoever is meant; whatever is left fails the restore.
struct Inventory {
    bool listed = true;  ///< false: images from before there was a list
    std::vector<std::string> names;
};

/// What both halves may use; lives as long as they.
struct Context {
    const model::Options& options;
    Log& log;
    const ImageDir& images;
    Inventory& inventory;
    /// To be looked at in whatever takes long, except in targets: the master ends them.
    StopRequest& stop;
    /// Who is notified of contents that are moved, for progress and trace; may change until dumpLate() or startWork().
    const memory::ReadWatch& watch;
    /// Of a dump: where contents may be stored, as memory of processes is. Null in a restore.
    memory::PageSinks* sinks = nullptr;
    /// Of a restore: where they are then. Null in a dump.
    const memory::PageSources* sources = nullptr;
    /// Of a restore: descriptors for targets. Null in a dump.
    kernel::FdStore* store = nullptr;
    /// What is restored. Null in a dump.
    const model::ProcessTree* tree = nullptr;
};

/// Is told of processes that stay as they are from now on. May be empty.
using ProcessCheckpointed = std::function<void(HostPid)>;

/// One dump. If it is destroyed without release(), the dump has failed: whatever it has stopped works again.
class DeviceDump {
public:
    virtual ~DeviceDump() = default;

    /// Whether quiesce() has anything to do: the device may be there.
    [[nodiscard]] virtual bool wantsQuiesce() { return false; }
    /// Before anything is stopped: the processes of the tree as they are now. For what has to be brought to rest while
    /// all of them can still answer each other. Called again as long as it says that it has done something, since more
    /// may have been born meanwhile.
    virtual bool quiesce(std::span<const HostPid> /*processes*/) { return false; }
    /// Before a process is stopped; others may be already.
    virtual void pause(HostPid) {}
    /// All processes are stopped, and the calling thread traces them; nothing of them has been read yet. For each one
    /// that is alive. One thread of it may be let run (compel::SingleThreadRun) for as long as this call lasts; what it
    /// does to the process' memory and descriptors is part of the dump.
    virtual void checkpoint(compel::FrozenProcess&) {}
    /// The same for all of them, for drivers that can deal with several at a time. `settled` may be told, in the
    /// calling thread, of each process that nothing more will be done to, while others are still worked on: its memory
    /// is read meanwhile.
    virtual void checkpointAll(std::span<compel::FrozenProcess* const> processes, const ProcessCheckpointed& settled);
    /// Whether checkpointAll() may change a process: no other subsystem says of it before that it stays as it is.
    [[nodiscard]] virtual bool checkpoints() const { return false; }
    /// Whether it will do anything to this one, which is stopped.
    [[nodiscard]] virtual bool willCheckpoint(HostPid) const { return false; }
    /// Whether this subsystem takes care of a mapping's content.
    virtual bool claims(const MappedDevice&) { return false; }
    /// Whether dump() is worth calling for a descriptor.
    virtual bool claims(const files::OpenFd&) { return false; }
    /// Takes over an open file under the given id; the descriptor is closed afterwards. False: isn't its own after all.
    virtual bool dump(const files::OpenFd&, FileId) { return false; }
    /// Whether it may be the affair of this subsystem what a unix socket outside of the tree has to say.
    [[nodiscard]] virtual bool takesSockets() const { return false; }
    /// A unix socket (`fd`, the caller's) that is connected to one outside of the tree. True: openSocket() makes it on
    /// restore.
    virtual bool takeSocket(int /*fd*/, std::uint32_t /*inode*/) { return false; }
    /// Takes over a mount whose source is outside of the tree; `mountPoint` is its path there. True: putMount() makes
    /// it.
    virtual bool takeMount(const std::string& /*mountPoint*/, int /*id*/) { return false; }
    /// A network device of a kind that criu doesn't know; `index`, `type` (ARPHRD_…) and `kind` (may be empty) as
    /// rtnetlink(7) has them. The calling thread is in its network namespace. True: this subsystem, or whoever prepares
    /// the namespace for a restore, takes care of it.
    virtual bool takeLink(int /*index*/, int /*type*/, const std::string& /*kind*/) { return false; }
    /// Once, when all processes and their memory are dumped.
    virtual void dumpLate(HostPid /*root*/) {}
    /// The images are complete. `tasksResume`: the processes will go on, so whatever was stopped must work again, or
    /// the dump fails; otherwise they are about to be killed.
    virtual void release(bool tasksResume) = 0;
    /// After all subsystems are released: the dump is done.
    virtual void finish() noexcept {}
};

/// A mapping that is to be made.
struct DeviceMapping {
    std::string_view path;  ///< of the device at the dump
    std::uint64_t start = 0;
    std::uint64_t offset = 0;  ///< at the dump
};

/// How it is to be made.
struct Relocated {
    std::uint64_t offset = 0;
    UniqueFd fd;  ///< of what; empty: of the path
};

/// The control groups that restored processes will be in.
struct ProcessGroups {
    /// A number that processes have in common if all their control groups are the same.
    std::function<std::uint32_t(TreePid)> setOf;
    /// Runs a function in a process of its own, which is in the control groups of a restored process and in criu's own
    /// namespaces. What it finds out has to go into shared memory. Throws Error if it throws.
    std::function<void(TreePid, const std::function<void()>&)> visit;
};

/// A process that is about to be let go.
struct ResumedProcess {
    compel::FrozenProcess* process = nullptr;
    TreePid pid;  ///< what images call it
};

/// One restore. The object is made in the master; forked copies of it work in the processes that are restored
/// ("target").
class DeviceRestore {
public:
    virtual ~DeviceRestore() = default;

    /// Master: images can be read; no process exists.
    virtual void prepare(files::FileRestore&) {}
    enum class GpuName { NoGpus, Unknown, Known };
    /// Master, after prepare(): whether the images have a GPU of this subsystem that --gpu-map calls so. Mappings of
    /// others are passed over.
    [[nodiscard]] virtual GpuName findGpu(const std::string& /*name*/) const { return GpuName::NoGpus; }
    /// Master: descriptors that targets shall have are to be made now, and inherited or stored.
    virtual void share(kernel::FdStore&) {}
    /// How many descriptors share() and targets put among the inherited ones, at most.
    [[nodiscard]] virtual std::size_t descriptors() const { return 0; }
    /// Master: whether a file is this subsystem's own, as far as is known before it is opened.
    [[nodiscard]] virtual bool owns(FileId) const { return false; }
    /// Master: files that must be open in the same process before this one.
    [[nodiscard]] virtual std::vector<FileId> needs(FileId, const files::FileRestore&) const { return {}; }
    /// Master: whether a file can be opened only when all others are.
    [[nodiscard]] virtual bool late(FileId) const { return false; }
    /// Master: whether a file should be open before its process does what takes long, since opening it has the master
    /// begin to work for it.
    [[nodiscard]] virtual bool early(FileId) const { return false; }
    /// Master: control groups exist, processes don't. For what depends on the devices that a group lets a process use.
    virtual void visitGroups(const ProcessGroups&) {}
    /// Master: the tree is being created. Threads may be started.
    virtual void startWork() {}
    /// Master: the restore is over, well or not, and what startWork() was called for is about to be taken apart. No
    /// thread that was started since then is left when this returns.
    virtual void endWork() noexcept {}

    enum class Opened { Done, NotMine, NotYet };
    /// Target: opens a file and hands it to opener.provide(). NotYet: to be called again when others were opened.
    virtual Opened open(FileId, files::FileOpener&) { return Opened::NotMine; }
    /// Target: a socket of takeSocket(). Empty: isn't this subsystem's.
    virtual UniqueFd openSocket(std::uint32_t /*inode*/) { return {}; }
    /// Target, the first process, while its root is still that of criu: mounts on `path` what takeMount() took under
    /// this id. False: isn't this subsystem's.
    virtual bool putMount(int /*id*/, const std::string& /*path*/) { return false; }
    /// Target: all processes have their files in place.
    virtual void complete(FileId, files::PlacedFiles&) {}
    /// Target: where a mapping is now; nothing if it isn't this subsystem's or hasn't moved.
    virtual std::optional<Relocated> relocate(const DeviceMapping&) { return std::nullopt; }

    /// Master: once for each live process, when all of them are complete: memory, descriptors, credentials, and in
    /// every thread the registers, the signal mask and the rseq area of the image. All are stopped, the calling thread
    /// traces them, and no instruction of theirs has been executed. One thread of the process may be let run
    /// (compel::SingleThreadRun) for as long as this call lasts. The tree is let go when this has returned for all
    /// processes and all subsystems. The pid is what images call the process.
    virtual void resume(compel::FrozenProcess&, TreePid) {}
    /// The same for all of them, for drivers that can deal with several at a time.
    virtual void resumeAll(std::span<const ResumedProcess> processes);
    /// Master, at the end: the tree runs. Without a call the restore failed.
    virtual void finish() noexcept {}
};

/// A question that `criu check --feature` can ask. Those named NAME_… are parts of NAME, and shown together with it.
struct Feature {
    std::string name;
    std::function<bool()> test;  ///< may throw Error to say why not
    /// Whether `criu check --extra` is to ask, too: the device is there. May throw Error: it isn't.
    std::function<bool()> matters;
    /// What `criu check --feature` is to say besides, a line each: devices, versions. May be empty.
    std::function<std::vector<std::string>()> details = {};
};

/// One driver's support. No state of a run.
class Subsystem {
public:
    virtual ~Subsystem() = default;
    /// What --no-device calls it.
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// What inventory.img calls it.
    [[nodiscard]] virtual std::string_view inventoryName() const { return name(); }
    /// Names of CRIU's plugins whose work this subsystem does: files of these names (without .so), and plugins that
    /// call themselves so, aren't loaded beside it.
    [[nodiscard]] virtual std::vector<std::string_view> replacesPlugins() const { return {}; }
    /// Loaded from a file: it says by itself whether the images want it.
    [[nodiscard]] virtual bool isPlugin() const { return false; }
    virtual std::unique_ptr<DeviceDump> startDump(const Context&) = 0;
    virtual std::unique_ptr<DeviceRestore> startRestore(const Context&) = 0;
    /// The dump has failed, in this process or a child of it in which startDump() was called, or that child was killed.
    /// Not all that was done to processes may have been undone; they run again, if they could be let go. Called by both
    /// processes: there is nothing left to do for the second one.
    virtual void rescue(Log&, const ImageDir& /*of the dump*/) noexcept {}
    /// Processes are about to be pre-dumped, which takes their memory only: the place to log what that leaves out.
    virtual void notePreDump(std::span<const HostPid> /*processes*/, Log&) {}
    [[nodiscard]] virtual std::vector<Feature> features() const { return {}; }
    /// Who of it is told of the stages of a dump or restore, by the process that does the work; null for nobody. The
    /// subsystem's own.
    [[nodiscard]] virtual model::StageListener* stageListener() { return nullptr; }
};

}  // namespace criu::device
