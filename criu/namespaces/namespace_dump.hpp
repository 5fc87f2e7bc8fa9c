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

/// The dump half of namespace kinds. The engine has a list of them (engine/namespace_kinds) and loops over it at each
/// step; what a kind does at a step is known to its own file only.
namespace criu::namespaces {

class NetworksDump;
class PosixQueuesDump;

/// A living process of a tree that stands still.
struct SeenProcess {
    const kernel::ProcPid& dir;
    HostPid pid;
    HostPid parent;  ///< outside of the tree for its root
    TreePid treePid;
    std::string name;
    std::vector<HostPid> threads;
    kernel::NamespaceIds ids;  ///< its namespaces

    /// "process 7 (sleep)", for messages.
    [[nodiscard]] std::string describe() const;
};

struct SeenTree {
    std::vector<SeenProcess> processes;  ///< the root of the tree first
    std::set<HostPid> pids;              ///< of all processes, zombies included
    /// The namespaces that criu was started in; where the tree counts as being in them (criu_init), those of the tree.
    kernel::NamespaceIds criu;
    const model::NestedPids& nested;  ///< pid namespaces below that of the root
    bool copiedMounts = false;        ///< the tree counts as being in criu's mount namespace, and is in a copy of it

    [[nodiscard]] const SeenProcess& root() const { return processes.front(); }
};

/// What is around the processes of the tree and isn't as it is for criu. Kinds say here what they know, when they are
/// made; everybody else asks here and need not know which kind it comes from. Complete when all kinds are made.
struct DumpNsContext {
    /// How the tree calls users and groups.
    model::IdMap ids;
    /// The number, in images, of the namespace of a kind that a process is in. When all kinds are made.
    std::function<std::uint32_t(kernel::NamespaceKind kind, HostPid process)> numberOf;
    /// Where paths begin.
    files::TreeRoot root;
    /// Where sockets are. Never null.
    NetworksDump* networks = nullptr;
    /// The groups that threads are in. Never null.
    cgroup::CgroupDump* cgroups = nullptr;
    /// From where a process of the tree sees them.
    std::function<cgroup::CgroupNsView(HostPid)> cgroupViewOf = [](HostPid) { return cgroup::CgroupNsView{}; };
    /// Semaphores of the IPC namespace that a process of the tree is in: whoever looks at it adds its adjustments to
    /// them. Null if these are those of criu's namespace.
    std::function<std::vector<SemaphoreSet>*(HostPid)> semaphoresOf = [](HostPid) { return nullptr; };
    /// The POSIX message queues of the root's IPC namespace; null if that is criu's.
    PosixQueuesDump* posixQueues = nullptr;
    /// Numbers of the contents of System V shared memory that the tree has for itself.
    std::vector<std::uint32_t> sharedMemory;
    /// The number, in images, of criu's IPC namespace, if the tree uses System V shared memory of that: then the
    /// segments that it has attached are dumped. 0: it has an IPC namespace for itself.
    std::uint32_t systemV = 0;
};

/// What kinds are made from. All of it outlives them.
struct DumpInputs {
    const model::Options& options;
    Log& log;
    StopRequest& stop;
    const SeenTree& tree;
    ImageNsIds& numbers;
    /// A name of this dump that no other has.
    const std::string& runId;
    /// The cgroup that was frozen for the dump; null if there is none.
    const cgroup::Freezer* freezer;
    /// Which properties of cgroups are dumped.
    const cgroup::PropertyTable& cgroupProperties;
    /// Asks plugins to take over a mount (its mount point and id), or a network device; false if none does.
    std::function<bool(const std::string& mountPoint, int id)> takeMount;
    std::function<bool(const kernel::NetworkLink& link)> takeLink;
    /// Tell action scripts that the tree's network is to be kept from the outside, and that it isn't any more. The
    /// latter to be called in the namespaces that criu was started in: scripts may be run by the calling thread.
    std::function<void()> scriptsLock;
    std::function<void()> scriptsUnlock;
    DumpNsContext& surroundings;
};

/// Where the content of namespaces goes.
struct DumpOutputs {
    const ImageDir& images;
    memory::PageSinks& pages;
    std::uint64_t& sharedPagesWritten;     ///< for statistics
    std::vector<std::string>& extensions;  ///< InventoryEntry.extensions: what CRIU 4.2 wouldn't find
};

/// One kind of namespace in one dump. Made when the tree has been frozen: the constructor looks at the namespaces that
/// processes are in, throws Error for what can't be dumped, and changes nothing. Then the steps follow in the order in
/// which they are declared; a kind implements those that it needs. Destroyed without release(), everything is again as
/// it was: the dump failed.
///
/// Numbers are asked for by process, so a kind may have several namespaces in one tree.
class NamespaceDump {
public:
    NamespaceDump(const NamespaceDump&) = delete;
    NamespaceDump& operator=(const NamespaceDump&) = delete;
    virtual ~NamespaceDump() = default;

    [[nodiscard]] kernel::NamespaceKind kind() const noexcept { return kind_; }
    /// Whether the tree has such a namespace for itself: its root isn't in that of criu.
    [[nodiscard]] bool isOwn() const { return inputs_.numbers.isOwn(kind_); }

    /// The number, in images, of the namespace that a process of the tree is in.
    [[nodiscard]] virtual std::uint32_t numberOf(HostPid /*process*/) const { return rootNumber(); }
    /// What else images say of the namespaces of a process.
    virtual void describe(HostPid /*process*/, TaskKobjIdsEntry& /*ids*/) const {}
    /// The number of the namespace with this inode, for descriptors of it; nothing if no restore would have it.
    [[nodiscard]] virtual std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const;

    /// All kinds are made, nothing was refused. From here on nothing that comes from outside may change the namespaces.
    virtual void lock() {}

    /// Writes the images, when all processes, memory and files have been dumped.
    virtual void write(const DumpOutputs& /*outputs*/) {}

    /// The images are complete. The tree goes on (FinalState::Running), stays stopped, or has ended: what a restore
    /// needs is left in place in both of the latter cases. Throws Error.
    virtual void release(model::FinalState /*state*/) {}

protected:
    NamespaceDump(kernel::NamespaceKind kind, const DumpInputs& inputs) : kind_(kind), inputs_(inputs) {}

    [[nodiscard]] const DumpInputs& inputs() const noexcept { return inputs_; }
    [[nodiscard]] std::uint32_t rootNumber() const { return inputs_.numbers.ofTree(kind_); }

    /// The inode of the user namespace in which the tree is restored: its own, or that of criu.
    [[nodiscard]] std::uint32_t usersOfTree() const;

    /// Throws Error if not all processes are in the namespace of the root.
    void requireOne() const;
    /// Runs `work` in a process' namespace, that of the root if none is named, in a thread of its own.
    void inside(const SeenProcess& process, const std::function<void()>& work) const;
    void inside(const std::function<void()>& work) const { inside(inputs_.tree.root(), work); }

private:
    kernel::NamespaceKind kind_;
    const DumpInputs& inputs_;
};

using NamespaceDumps = std::vector<std::unique_ptr<NamespaceDump>>;

// Each is defined in the file of its kind.
[[nodiscard]] std::unique_ptr<NamespaceDump> makePidDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeUserDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeCgroupDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeUtsDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeTimeDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeMountDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeIpcDump(const DumpInputs& inputs);
[[nodiscard]] std::unique_ptr<NamespaceDump> makeNetworkDump(const DumpInputs& inputs);

}  // namespace criu::namespaces
