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
class Refusals;
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

/// Dump half of namespace kinds. The engine has a list of namespace kinds (engine/namespace_kinds) and calls each
/// function for all of them. Each namespace kind is implemented in its own file.
namespace criu::namespaces {

class NetworksDump;
class PosixQueuesDump;

/// Live process of a frozen tree.
struct SeenProcess {
    const kernel::ProcPid& dir;
    HostPid pid;
    HostPid parent;  ///< parent process; for the root it is outside of the tree
    TreePid treePid;
    std::string name;
    std::vector<HostPid> threads;
    kernel::NamespaceIds ids;  ///< namespaces of the process, identified by their inodes

    /// Returns a text such as "process 7 (sleep)", for messages.
    [[nodiscard]] std::string describe() const;
};

struct SeenTree {
    std::vector<SeenProcess> processes;  ///< all live processes; the root is the first
    std::set<HostPid> pids;              ///< pids of all processes, including zombies
    /// Namespaces in which criu was started. If the tree counts as being in criu's namespace of a kind (criu_init.hpp),
    /// the element of this kind is the tree's namespace.
    kernel::NamespaceIds criu;
    /// True if the tree is in a copy of criu's mount namespace, which counts as criu's mount namespace.
    const model::NestedPids& nested;
    /// True if the tree is in a copy of criu's mount namespace, and counts as being in criu's.
    bool copiedMounts = false;

    [[nodiscard]] const SeenProcess& root() const { return processes.front(); }
};

/// Data about those namespaces of the tree that aren't criu's. The constructors of namespace kinds set the fields, and
/// code that doesn't know the kinds reads them. The data is complete when all namespace kinds are constructed.
struct DumpNsContext {
    /// Id map between uids and gids of the host and of the tree.
    model::IdMap ids;
    /// Returns the namespace id of the namespace in which a process is. Valid after all namespace kinds are
    /// constructed.
    std::function<std::uint32_t(kernel::NamespaceKind kind, HostPid process)> numberOf;
    /// Root directory of the tree's paths.
    files::TreeRoot root;
    /// Network namespaces that contain sockets of the tree. Never null.
    NetworksDump* networks = nullptr;
    /// Cgroups of the tree's threads. Never null.
    cgroup::CgroupDump* cgroups = nullptr;
    /// Returns the cgroup namespace in which a process of the tree sees cgroup paths.
    std::function<cgroup::CgroupNsView(HostPid)> cgroupViewOf = [](HostPid) { return cgroup::CgroupNsView{}; };
    /// Returns the semaphore sets of a process' IPC namespace. The caller adds the undo values of the process to them.
    /// Returns null if the process is in criu's IPC namespace.
    std::function<std::vector<SemaphoreSet>*(HostPid)> semaphoresOf = [](HostPid) { return nullptr; };
    /// POSIX message queues of the root's IPC namespace; null if the root is in criu's.
    PosixQueuesDump* posixQueues = nullptr;
    /// Image numbers of the contents of System V shared memory in the tree's IPC namespaces.
    std::vector<std::uint32_t> sharedMemory;
    /// Namespace id of criu's IPC namespace if the tree is in it; the dump then contains the System V segments that the
    /// tree has attached. 0 if the tree has a private IPC namespace.
    std::uint32_t systemV = 0;
};

/// Arguments of the constructors of all kinds. They must outlive the kinds.
struct DumpInputs {
    const model::Options& options;
    Log& log;
    StopRequest& stop;
    const SeenTree& tree;
    ImageNsIds& numbers;
    /// Name that no other dump has.
    const std::string& runId;
    /// Cgroup that was frozen for the dump, or null.
    const cgroup::Freezer* freezer;
    /// Properties of cgroups that criu dumps.
    const cgroup::PropertyTable& cgroupProperties;
    /// takeMount() and takeLink() offer a mount or a network device to plugins. They return false if no plugin wants to
    /// dump it.
    std::function<bool(const std::string& mountPoint, int id)> takeMount;
    std::function<bool(const kernel::NetworkLink& link)> takeLink;
    /// scriptsLock() and scriptsUnlock() notify action scripts that the network is locked or unlocked. Call
    /// scriptsUnlock() in the namespaces in which criu was started, because the calling thread may run scripts.
    std::function<void()> scriptsLock;
    std::function<void()> scriptsUnlock;
    Refusals& refusals;  ///< collector for errors of independent checks
    DumpNsContext& nsContext;
};

/// Destination of the content of namespaces.
struct DumpOutputs {
    const ImageDir& images;
    memory::PageSinks& pages;
    std::uint64_t& sharedPagesWritten;  ///< pages of shared memory, for statistics
    /// Extension names of image formats that CRIU 4.2 can't read (InventoryEntry.extensions).
    std::vector<std::string>& extensions;
};

/// Dump of one kind of namespace. The constructor runs when the tree is frozen. It examines the namespaces, and throws
/// Error if one can't be dumped. It changes nothing.
///
/// criu calls the functions in the order of their declarations; a namespace kind overrides the functions that it needs.
/// If the destructor runs without release(), the dump has failed, and the destructor reverts all changes.
///
/// A tree may have several namespaces of a kind, so namespace ids are queried by process.
class NamespaceDump {
public:
    NamespaceDump(const NamespaceDump&) = delete;
    NamespaceDump& operator=(const NamespaceDump&) = delete;
    virtual ~NamespaceDump() = default;

    [[nodiscard]] kernel::NamespaceKind kind() const noexcept { return kind_; }
    /// Returns true if the root is in a private namespace of this kind.
    [[nodiscard]] bool isOwn() const { return inputs_.numbers.isOwn(kind_); }

    /// Returns the namespace id of the namespace that a process of the tree is in.
    [[nodiscard]] virtual std::uint32_t numberOf(HostPid /*process*/) const { return rootNumber(); }
    /// Sets other image fields about the namespaces of a process.
    virtual void describe(HostPid /*process*/, TaskKobjIdsEntry& /*ids*/) const {}
    /// Returns the namespace id of the namespace with this inode, for a descriptor that refers to the namespace.
    /// Returns nullopt if a restore couldn't open the namespace.
    [[nodiscard]] virtual std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const;

    /// Protects the namespaces from external events, such as packets. Called after all kinds are constructed and
    /// nothing was refused.
    virtual void lock() {}

    /// Writes the images. Called after all processes, memory and files were dumped.
    virtual void write(const DumpOutputs& /*outputs*/) {}

    /// Called when the images are complete, directly before criu kills the tree. Changes in the kernel that would harm
    /// the tree if criu died are allowed only here. If it throws Error, criu resumes the tree.
    virtual void prepareKill() {}

    /// Called when the images are complete. If the tree continues to run (FinalState::Running), reverts all changes.
    /// For other final states, keeps the changes that a restore needs. Throws Error.
    virtual void release(model::FinalState /*state*/) {}

protected:
    NamespaceDump(kernel::NamespaceKind kind, const DumpInputs& inputs) : kind_(kind), inputs_(inputs) {}

    [[nodiscard]] const DumpInputs& inputs() const noexcept { return inputs_; }
    [[nodiscard]] std::uint32_t rootNumber() const { return inputs_.numbers.ofTree(kind_); }

    /// Returns the inode of the user namespace in which a restore creates the tree: the tree's private one, or criu's.
    [[nodiscard]] std::uint32_t usersOfTree() const;

    /// Throws Error if a process isn't in the root's namespace of this kind.
    void requireOne() const;
    /// Runs `work` in a new thread in the namespace of a process. Without `process`, it is the root's namespace.
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
