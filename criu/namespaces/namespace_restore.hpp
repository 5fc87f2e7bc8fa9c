// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/model/id_map.hpp"
#include "criu/namespaces/namespace_restores.hpp"
#include "images/core.fwd.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::cgroup {
class CgroupRestore;
}

namespace criu::kernel {
class FdStore;
enum class NamespaceKind : std::uint8_t;
class Usernsd;
class ProcPid;
}  // namespace criu::kernel

namespace criu::memory {
class PageSources;
}

namespace criu::model {
struct Options;
struct ProcessTree;
struct Task;
}  // namespace criu::model

namespace criu::namespaces {
class JoinedNamespaces;
}

/// The restore half of namespace kinds. The engine has a list of kinds (engine/namespace_kinds) and calls each step for
/// all of them. Only the file of a kind knows the work of its steps.
namespace criu::namespaces {

using Work = std::function<void()>;

/// Moves a descriptor of the calling process to a number that no restored process uses.
using MoveFd = std::function<UniqueFd(UniqueFd)>;

/// Properties of the restored namespaces that differ from criu's. Kinds fill them in when they are constructed; other
/// code reads them and needn't know the kind. Complete before the first kind's prepare().
struct RestoreNsContext {
    /// Translation of uids and gids. With a private user namespace the tree has no capabilities outside of it: its
    /// processes can't raise their limits, for instance.
    model::IdMap ids;
    /// Does privileged calls for processes of the tree; null if these have all capabilities.
    const kernel::Usernsd* usernsd = nullptr;
    /// Returns the nested user namespace that a process enters when it gets its credentials; null: it stays in the
    /// tree's user namespace. All restored processes inherit the descriptor. It is set before prepare() of the kinds.
    std::function<const UniqueFd*(const model::Task&)> usernsOf = [](const model::Task&) { return nullptr; };
    /// Returns the nested user namespace that owns a non-root namespace of another kind, by namespace id. Null: the
    /// tree's user namespace owns it. Valid in the first process from begin() on; from build() on if the tree has a
    /// private user namespace.
    std::function<const UniqueFd*(std::uint32_t number)> ownerOf = [](std::uint32_t) { return nullptr; };
    /// The tree's pids are in another pid namespace than criu's.
    bool ownPids = false;
    /// The tree's pid namespace is private and ends with its first process, which is the root or an init.
    bool endsWithFirst = false;
    /// Name of the tree's pid namespace for --inherit-fd, if it is an external one.
    std::string givenPids;
    /// The first process of the tree's pid namespace, if it is an init of criu and not the root. Valid when the root
    /// exists.
    HostPid init;
    /// The tree has a private mount namespace. The first process creates deleted files there.
    bool ownPaths = false;
    /// The private mounts show the same files as criu's mounts.
    bool sameFiles = false;
    /// The tree has a private network namespace, to which the dump applied the namespace lock.
    bool ownNetwork = false;
    /// Namespace id of criu's IPC namespace if the tree used System V objects of it. 0: the tree was in another IPC
    /// namespace.
    std::uint32_t systemV = 0;

    /// Returns the namespace id of the mount namespace that has a mount, by the mount's id in images. 0: the mount
    /// namespace isn't a private one of the tree.
    std::function<std::uint32_t(int mount)> mountSpaceOf = [](int) { return 0U; };
    /// In a restored process: runs `work` where names of Unix sockets are resolved in this mount namespace (0: any).
    std::function<void(std::uint32_t space, const MoveFd& move, const Work& work)> inSocketNameNs =
        [](std::uint32_t, const MoveFd&, const Work& work) { work(); };
    /// Runs `work` in the mount namespace of a restored process; `process` is its host pid.
    std::function<void(HostPid process, const Work& work)> withPathsOf = [](HostPid, const Work& work) { work(); };
    /// Runs `work` in the network namespace of the root, when that is complete.
    std::function<void(const Work& work)> inNetwork = [](const Work& work) { work(); };
    /// In a restored process: runs `work` where a new socket belongs to the network namespace with this namespace id
    /// (0: any).
    std::function<void(std::uint32_t number, const MoveFd& move, const Work& work)> inSocketNetNs =
        [](std::uint32_t, const MoveFd&, const Work& work) { work(); };
};

/// Arguments of all kinds' constructors. They outlive the kinds.
struct RestoreInputs {
    const model::Options& options;
    Log& log;
    const ImageDir& images;
    const memory::PageSources& pages;
    /// Throws if the restore is to end. Call it between pieces of bulk data.
    const std::function<void()>& checkStop;
    const model::ProcessTree& tree;
    /// Namespace ids of the dumping criu; null in old images.
    const TaskKobjIdsEntry* outside;
    /// Namespace ids of network namespaces that files refer to, each with one such file.
    const std::map<std::uint32_t, FileId>& networksOfFiles;
    const JoinedNamespaces& joined;
    RestoreNsContext& nsContext;
};

/// Namespace ids of one kind that processes were in.
struct KindNsIds {
    std::uint32_t own = 0;              ///< namespace of the root; 0: that of criu, or images don't say
    std::vector<std::uint32_t> others;  ///< non-root namespaces, each once, in the order of the processes

    /// Throws Error if the root was in criu's namespace and other processes weren't.
    static KindNsIds of(const RestoreInputs& inputs, kernel::NamespaceKind kind);
    /// Also accepts images whose root was in criu's namespace. Throws Error if images don't say which namespace another
    /// process was in.
    static KindNsIds ofAny(const RestoreInputs& inputs, kernel::NamespaceKind kind);
    /// For a kind of which all processes must be in one namespace. Throws Error if they weren't.
    static KindNsIds ofOne(const RestoreInputs& inputs, kernel::NamespaceKind kind);
};

/// State of the root when it enters its namespaces.
struct FirstProcess {
    const model::Task& task;
    /// The cgroup set that the root is in. Code that moves the root to another set updates it.
    std::uint32_t& cgroups;
};

/// A parked process of the tree.
struct ParkedProcess {
    const model::Task& task;
    HostPid pid;
};

/// One kind of namespace in one restore. The constructor runs when the restore is planned. It reads and checks images,
/// throws Error for state that can't be restored, and changes nothing. The steps follow in the order of their
/// declarations; a kind implements the ones it needs. If the restore fails, all processes of the tree have ended, and
/// the destructor reverts changes outside of them.
/// Namespace ids come from each process' image, so a kind may have several namespaces in one tree.
class NamespaceRestore {
public:
    NamespaceRestore() = default;
    virtual ~NamespaceRestore() = default;
    NamespaceRestore(const NamespaceRestore&) = delete;
    NamespaceRestore& operator=(const NamespaceRestore&) = delete;

    // Steps of the coordinator, before any process exists.

    /// Returns how many descriptors prepare() moves.
    [[nodiscard]] virtual std::size_t descriptors() const { return 0; }

    /// Returns the descriptor that --inherit-fd gives for a name; -1 if there is none.
    using Inherited = std::function<int(std::string_view name)>;
    /// Opens external objects that the restored processes need.
    virtual void prepare(kernel::FdStore& /*store*/, const Inherited& /*inherited*/) {}

    // Steps of the creator of a process.

    /// Returns the CLONE_NEW… flags for the birth of a process. Its creator is in the namespaces of its own image.
    [[nodiscard]] virtual std::uint64_t birthFlags(const model::Task& /*task*/) const { return 0; }
    /// Run by the coordinator. Calls `create`, which creates the first process, in the namespaces that this process
    /// starts in. In the new process `create` doesn't return.
    virtual HostPid createFirstProcess(const std::function<HostPid()>& create) { return create(); }

    // Steps of the coordinator while the first process waits; `first` is its /proc/PID. begin() runs in the first
    // process at the same time. If needsFirstStarted() is true, begin() has returned before fill() is called.

    /// Runs in the first process, before all other steps.
    virtual void begin() {}
    /// Called when the first process exists. Returns when it is in its namespaces, so that action scripts can inspect
    /// it.
    virtual void firstCreated(const kernel::ProcPid& /*first*/) {}
    [[nodiscard]] virtual bool needsFirstStarted() const { return false; }
    /// Restores content of the images from outside of the namespaces.
    virtual void fill(const kernel::ProcPid& /*first*/) {}
    /// From here to open(), nothing from outside may reach the tree.
    virtual void close() {}

    // Steps of the first process, which has one thread.

    /// Enters namespaces that the first process wasn't created in. It still has criu's credentials.
    virtual void enterFirst(const FirstProcess& /*first*/) {}
    /// Called when enterFirst() of all kinds is done. Creates content that can only be created from inside.
    virtual void build() {}

    // Steps of every living process, the first included.

    /// Enters the namespaces that the process needs to open its files.
    virtual void enter(const model::Task& /*task*/) const {}
    /// Called when the process' files are open. Enters its remaining namespaces and restores content that belongs to
    /// one process.
    virtual void complete(const model::Task& /*task*/) const {}
    /// Enters the same namespaces as complete(), in another thread of the process. The thread exists already; the
    /// leader has called complete().
    virtual void completeThread(const model::Task& /*task*/) const {}

    // Steps of the coordinator while all processes are frozen.

    /// Called when all processes have their memory.
    virtual void finish(const kernel::ProcPid& /*first*/) {}
    /// Called when the tree needs no objects of criu any more. Removes these.
    virtual void clean(std::span<const ParkedProcess> /*processes*/) {}
    /// Ends the lock of close().
    virtual void open() {}
    /// Called when the restore has succeeded. Changes outside of the tree become permanent.
    virtual void commit() noexcept {}
};

/// Creates the restore half of a kind that --join-ns names. The root enters the named namespace.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeJoinedRestore(const RestoreInputs& inputs,
                                                                  kernel::NamespaceKind kind);

// Restore halves of the kinds. Each function is defined in the file of its kind, and returns null if there is nothing
// to do.

/// Restores the UTS namespace of a tree (uts_namespaces(7)): a new one with the names of the images, or a joined one.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeUtsRestore(const RestoreInputs& inputs);
/// Restores the time namespace of a tree (time_namespaces(7)). Creates or joins one wherever the kernel permits,
/// because clocks continue from the dump.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeTimeRestore(const RestoreInputs& inputs);
/// Restores the IPC namespace of a tree (ipc_namespaces(7)): a new one with the objects of the images, or a joined one.
/// For a tree in criu's namespace, only sets RestoreNsContext::systemV and returns null.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeIpcRestore(const RestoreInputs& inputs);
/// Restores the user namespace of a tree (user_namespaces(7)).
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeUserRestore(const RestoreInputs& inputs);
/// Restores the cgroup namespace of a tree (cgroup_namespaces(7)). Its roots are groups that `groups` creates.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeCgroupRestore(const RestoreInputs& inputs,
                                                                  cgroup::CgroupRestore& groups);

/// Runs `work` in a new thread in a process' namespace of this kind. Throws Error with the kind's name.
void visitNamespace(const kernel::ProcPid& process, kernel::NamespaceKind kind, const Work& work);

}  // namespace criu::namespaces
