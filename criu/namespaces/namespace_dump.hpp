// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/id_map.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "images/core.fwd.hpp"

namespace criu {
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::cgroup {
class CgroupDump;
class Freezer;
enum class CgroupNsView : std::uint32_t;
class PropertyTable;
}  // namespace criu::cgroup

namespace criu::kernel {
struct NetworkLink;
class ProcPid;
}  // namespace criu::kernel

namespace criu::memory {
class PageSinks;
}

namespace criu::model {
class NestedPids;
enum class FinalState : std::uint8_t;
struct Options;
}  // namespace criu::model

namespace criu::namespaces {
struct SemaphoreSet;
}

/// The dump half of namespace kinds. The engine has a list of kinds (engine/namespace_kinds) and calls each step for
/// all of them. Only the file of a kind knows the work of its steps.
namespace criu::namespaces {

class NetworksDump;
class PosixQueuesDump;

/// A living process of a frozen tree.
struct SeenProcess {
    const kernel::ProcPid& dir;
    HostPid pid;
    HostPid parent;  ///< outside of the tree for the root
    TreePid treePid;
    std::string name;
    std::vector<HostPid> threads;
    kernel::NamespaceIds ids;  ///< namespaces of the process

    /// Returns "process 7 (sleep)", for messages.
    [[nodiscard]] std::string describe() const;
};

struct SeenTree {
    std::vector<SeenProcess> processes;  ///< the root of the tree first
    std::set<HostPid> pids;              ///< pids of all processes, zombies included
    /// The namespaces that criu was started in. For kinds in which the tree counts as being in criu's namespace
    /// (criu_init), the tree's namespaces.
    kernel::NamespaceIds criu;
    const model::NestedPids& nested;  ///< pid namespaces below that of the root
    bool copiedMounts = false;        ///< the tree counts as being in criu's mount namespace; it is in a copy of it

    [[nodiscard]] const SeenProcess& root() const { return processes.front(); }
};

/// Properties of the tree's namespaces that differ from criu's. Kinds fill them in when they are constructed; other
/// code reads them and needn't know the kind. Complete when all kinds are constructed.
struct DumpNsContext {
    /// Translation of uids and gids to those of the tree.
    model::IdMap ids;
    /// Returns the namespace id of the namespace that a process is in. Valid when all kinds are constructed.
    std::function<std::uint32_t(kernel::NamespaceKind kind, HostPid process)> numberOf;
    /// Root directory of the tree's paths.
    files::TreeRoot root;
    /// Network namespaces that contain sockets. Never null.
    NetworksDump* networks = nullptr;
    /// Cgroups that threads are in. Never null.
    cgroup::CgroupDump* cgroups = nullptr;
    /// Returns the cgroup namespace in which a process of the tree sees paths of cgroups.
    std::function<cgroup::CgroupNsView(HostPid)> cgroupViewOf = [](HostPid) { return cgroup::CgroupNsView{}; };
    /// Returns the semaphore sets of a process' IPC namespace, so that the caller can add the process' undo values to
    /// them. Null if the process is in criu's IPC namespace.
    std::function<std::vector<SemaphoreSet>*(HostPid)> semaphoresOf = [](HostPid) { return nullptr; };
    /// POSIX message queues of the root's IPC namespace; null if that is criu's.
    PosixQueuesDump* posixQueues = nullptr;
    /// Numbers, in images, of the contents of System V shared memory in the tree's IPC namespaces.
    std::vector<std::uint32_t> sharedMemory;
    /// Namespace id of criu's IPC namespace if the tree uses System V shared memory of that namespace. The dump then
    /// contains the attached segments. 0: the tree has a private IPC namespace.
    std::uint32_t systemV = 0;
};

/// Arguments of all kinds' constructors. They outlive the kinds.
struct DumpInputs {
    const model::Options& options;
    Log& log;
    StopRequest& stop;
    const SeenTree& tree;
    ImageNsIds& numbers;
    /// A name that no other dump has.
    const std::string& runId;
    /// The cgroup that was frozen for the dump; null if there is none.
    const cgroup::Freezer* freezer;
    /// Properties of cgroups that are dumped.
    const cgroup::PropertyTable& cgroupProperties;
    /// Offer a mount (mount point and id) or a network device to plugins. False if no plugin takes it.
    std::function<bool(const std::string& mountPoint, int id)> takeMount;
    std::function<bool(const kernel::NetworkLink& link)> takeLink;
    /// Notify action scripts of the network lock and unlock. Call scriptsUnlock in the namespaces that criu was started
    /// in, since the calling thread may run scripts.
    std::function<void()> scriptsLock;
    std::function<void()> scriptsUnlock;
    DumpNsContext& nsContext;
};

/// Destination of the namespaces' content.
struct DumpOutputs {
    const ImageDir& images;
    memory::PageSinks& pages;
    std::uint64_t& sharedPagesWritten;     ///< for statistics
    std::vector<std::string>& extensions;  ///< InventoryEntry.extensions: image forms that CRIU 4.2 can't read
};

/// One kind of namespace in one dump. The constructor runs when the tree is frozen. It examines the namespaces, throws
/// Error if one can't be dumped, and changes nothing. The steps follow in the order of their declarations; a kind
/// implements the ones it needs. A destructor without release() reverts all changes, because the dump failed.
/// Namespace ids are queried by process, so a kind may have several namespaces in one tree.
class NamespaceDump {
public:
    NamespaceDump(const NamespaceDump&) = delete;
    NamespaceDump& operator=(const NamespaceDump&) = delete;
    virtual ~NamespaceDump() = default;

    [[nodiscard]] kernel::NamespaceKind kind() const noexcept { return kind_; }
    /// True if the root is in a private namespace of this kind.
    [[nodiscard]] bool isOwn() const { return inputs_.numbers.isOwn(kind_); }

    /// Returns the namespace id of the namespace that a process of the tree is in.
    [[nodiscard]] virtual std::uint32_t numberOf(HostPid /*process*/) const { return rootNumber(); }
    /// Adds other image fields about the namespaces of a process.
    virtual void describe(HostPid /*process*/, TaskKobjIdsEntry& /*ids*/) const {}
    /// Returns the namespace id for the inode of a namespace, for descriptors of it. Empty if no restore would create
    /// that namespace.
    [[nodiscard]] virtual std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const;

    /// Called when all kinds are constructed and nothing was refused. From here on, external events must not change the
    /// namespaces.
    virtual void lock() {}

    /// Writes the images, when all processes, memory and files have been dumped.
    virtual void write(const DumpOutputs& /*outputs*/) {}

    /// Called when the images are complete, right before the tree is killed. Until then nothing may stay in the kernel
    /// that harms the tree if criu dies. Throws Error, which resumes the tree.
    virtual void prepareKill() {}

    /// Called when the images are complete. If the tree runs again (FinalState::Running), reverts all changes.
    /// Otherwise leaves what a restore needs in place. Throws Error.
    virtual void release(model::FinalState /*state*/) {}

protected:
    NamespaceDump(kernel::NamespaceKind kind, const DumpInputs& inputs) : kind_(kind), inputs_(inputs) {}

    [[nodiscard]] const DumpInputs& inputs() const noexcept { return inputs_; }
    [[nodiscard]] std::uint32_t rootNumber() const { return inputs_.numbers.ofTree(kind_); }

    /// Returns the inode of the user namespace that the tree is restored in: its private one, or criu's.
    [[nodiscard]] std::uint32_t usersOfTree() const;

    /// Throws Error if not all processes are in the namespace of the root.
    void requireOne() const;
    /// Runs `work` in a new thread in the namespace of a process; the default is the root.
    void inside(const SeenProcess& process, const std::function<void()>& work) const;
    void inside(const std::function<void()>& work) const { inside(inputs_.tree.root(), work); }

private:
    kernel::NamespaceKind kind_;
    const DumpInputs& inputs_;
};

using NamespaceDumps = std::vector<std::unique_ptr<NamespaceDump>>;

// Each function is defined in the file of its kind.
[[nodiscard]] std::unique_ptr<NamespaceDump> makePidDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeUserDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeCgroupDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeUtsDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeTimeDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeMountDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeIpcDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeNetworkDump(const DumpInputs& inputs);

}  // namespace criu::namespaces
