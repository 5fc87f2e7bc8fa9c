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

/// Restore half of namespace kinds. The engine has a list of namespace kinds (engine/namespace_kinds) and calls each
/// function for all of them. Each namespace kind is implemented in its own file.
namespace criu::namespaces {

using Work = std::function<void()>;

/// Function that moves a descriptor of the calling process to a number that no restored process uses.
using MoveFd = std::function<UniqueFd(UniqueFd)>;

/// Data about those restored namespaces that aren't criu's. The constructors of namespace kinds set the fields, and
/// code that doesn't know the kinds reads them. The data is complete before the first prepare().
struct RestoreNsContext {
    /// Id map of uids and gids. A tree with a private user namespace has no capabilities outside of it. For instance,
    /// its processes can't raise their rlimits.
    model::IdMap ids;
    /// Thread that makes privileged calls for processes of the tree; null if the tree has all capabilities.
    const kernel::Usernsd* usernsd = nullptr;
    /// Returns the nested user namespace that a process enters at its privilege drop; null if the process stays in the
    /// tree's user namespace. All restored processes inherit the descriptor. Set before prepare() of the namespace
    /// kinds.
    std::function<const UniqueFd*(const model::Task&)> usernsOf = [](const model::Task&) { return nullptr; };
    /// Returns the nested user namespace that owns a non-root namespace of another kind; null if the tree's user
    /// namespace owns it. `number`: namespace id. Valid in the first process, from begin() on. If the tree has a
    /// private user namespace, valid only from build() on.
    std::function<const UniqueFd*(std::uint32_t number)> ownerOf = [](std::uint32_t) { return nullptr; };
    /// Calls `create`, which creates the first process, in the user namespace that --join-ns gives to the tree. Returns
    /// the pid of the process.
    std::function<HostPid(const std::function<HostPid()>& create)> createInUserns =
        [](const std::function<HostPid()>& create) { return create(); };
    /// True if the tree's pid namespace isn't criu's.
    bool ownPids = false;
    /// True if the tree's pid namespace is private. The namespace then ends with its first process, which is the root
    /// or a namespace init.
    bool endsWithFirst = false;
    /// Name for --inherit-fd of the tree's pid namespace, if the namespace is external.
    std::string givenPids;
    /// The namespace init, if it is the first process of the tree's pid namespace; 0 if the root is. Valid after the
    /// root exists.
    HostPid init;
    /// True if the tree has a private mount namespace. The first process then creates deleted files in it.
    bool ownPaths = false;
    /// True if the first process creates the mounts of its own mount namespace, and then calls mountsMade().
    bool makesMounts = false;
    /// Reports to the coordinator that the mounts of the tree exist. Returns when the process may go on. Empty if no
    /// listener wants to know.
    std::function<void()> mountsMade;
    /// True if the mounts of the private mount namespace show the same files as criu's mounts.
    bool sameFiles = false;
    /// True if the tree has a private network namespace, to which the dump applied the namespace lock.
    bool ownNetwork = false;
    /// Namespace id of criu's IPC namespace if the tree was in it. 0: the tree was in another IPC namespace.
    std::uint32_t systemV = 0;

    /// Returns the namespace id of the mount namespace that contains a mount; 0 if this isn't a private namespace of
    /// the tree. `mount`: mount id in the images.
    std::function<std::uint32_t(int mount)> mountSpaceOf = [](int) { return 0U; };
    /// Runs `work` in such a way that the kernel resolves names of Unix sockets in the mount namespace `space` (0: in
    /// any). For restored processes.
    std::function<void(std::uint32_t space, const MoveFd& move, const Work& work)> inSocketNameNs =
        [](std::uint32_t, const MoveFd&, const Work& work) { work(); };
    /// Runs `work` in the mount namespace of a restored process. `process`: host pid.
    std::function<void(HostPid process, const Work& work)> withPathsOf = [](HostPid, const Work& work) { work(); };
    /// Runs `work` in the network namespace of the root. Must follow fill() of the network kind.
    std::function<void(const Work& work)> inNetwork = [](const Work& work) { work(); };
    /// Runs `work` in such a way that new sockets belong to the network namespace with this namespace id (0: to any).
    /// For restored processes.
    std::function<void(std::uint32_t number, const MoveFd& move, const Work& work)> inSocketNetNs =
        [](std::uint32_t, const MoveFd&, const Work& work) { work(); };
};

/// Arguments of the constructors of all kinds. They must outlive the kinds.
struct RestoreInputs {
    const model::Options& options;
    Log& log;
    const ImageDir& images;
    const memory::PageSources& pages;
    /// Throws Error if the restore must stop. Long work must call it between pieces of data.
    const std::function<void()>& checkStop;
    /// Adds a file that the restore creates to the amounts of the restore. `bytes`: size of its content without holes.
    /// Throws Error if the sum exceeds a limit.
    const std::function<void(std::uint64_t bytes)> addFile;
    /// Adds content of files that addFile() was called for. Throws Error if the sum exceeds a limit.
    const std::function<void(std::uint64_t bytes)> addMemory;
    const model::ProcessTree& tree;
    /// Namespace ids of the criu that made the dump; null in old images.
    const TaskKobjIdsEntry* outside;
    /// Network namespaces to which files refer. The key is the namespace id; the value is one of these files.
    const std::map<std::uint32_t, FileId>& networksOfFiles;
    const JoinedNamespaces& joined;
    RestoreNsContext& nsContext;
};

/// Namespace ids of one kind in which processes were at the dump.
struct KindNsIds {
    /// Namespace id of the root; 0 if the root was in criu's namespace, or if the images don't contain it.
    std::uint32_t own = 0;
    /// Ids of non-root namespaces without duplicates, in the order of the processes.
    std::vector<std::uint32_t> others;

    /// Returns the ids for a kind. Throws Error if the root was in criu's namespace and another process wasn't.
    static KindNsIds of(const RestoreInputs& inputs, kernel::NamespaceKind kind);
    /// Returns the ids for a namespace kind. Accepts that the root was in criu's namespace and other processes weren't.
    /// Throws Error if the images don't contain the namespace of such a process.
    static KindNsIds ofAny(const RestoreInputs& inputs, kernel::NamespaceKind kind);
    /// Returns the ids for a kind in which all processes must be in one namespace. Throws Error if they weren't.
    static KindNsIds ofOne(const RestoreInputs& inputs, kernel::NamespaceKind kind);
};

/// State of the root while it enters its namespaces.
struct FirstProcess {
    const model::Task& task;
    /// Cgroup set in which the root is. Code that moves the root to another set must update the value.
    std::uint32_t& cgroups;
};

/// Process of the tree that is parked.
struct ParkedProcess {
    const model::Task& task;
    HostPid pid;
};

/// Restore of one kind of namespace. The constructor runs when criu plans the restore. It reads and checks images, and
/// throws Error for state that can't be restored. It changes nothing.
///
/// criu calls the functions in the order of their declarations; a namespace kind overrides the functions that it needs.
/// If the restore fails, criu first ends all processes of the tree; then the destructor reverts changes outside of
/// them.
///
/// A tree may have several namespaces of a kind, so namespace ids come from the image of each process.
class NamespaceRestore {
public:
    NamespaceRestore() = default;
    virtual ~NamespaceRestore() = default;
    NamespaceRestore(const NamespaceRestore&) = delete;
    NamespaceRestore& operator=(const NamespaceRestore&) = delete;

    // Functions that the coordinator calls before any process exists

    /// Returns the number of descriptors that prepare() moves.
    [[nodiscard]] virtual std::size_t descriptors() const { return 0; }

    /// Function that returns the descriptor that the user assigned to a name by --inherit-fd; -1 if the user assigned
    /// none.
    using Inherited = std::function<int(std::string_view name)>;
    /// Opens external objects that the restored processes need.
    virtual void prepare(kernel::FdStore& /*store*/, const Inherited& /*inherited*/) {}

    // Functions that the creator of a process calls

    /// Returns the CLONE_NEW… flags for the birth of a process. The creator is in the namespaces of its own image.
    [[nodiscard]] virtual std::uint64_t birthFlags(const model::Task& /*task*/) const { return 0; }
    /// Calls `create`, which creates the first process, in the namespaces in which this process must start. Runs in the
    /// coordinator. In the new process, `create` doesn't return.
    virtual HostPid createFirstProcess(const std::function<HostPid()>& create) { return create(); }

    // Functions that the coordinator calls while the first process waits; `first` is the process' directory /proc/PID.
    // begin() runs in the first process at the same time. If needsFirstStarted() returns true, begin() has returned
    // before criu calls fill().

    /// Runs in the first process. It is the first function that criu calls there.
    virtual void begin() {}
    /// Returns when the first process is in its namespaces, so that action scripts can inspect it. Called after the
    /// first process was created.
    virtual void firstCreated(const kernel::ProcPid& /*first*/) {}
    [[nodiscard]] virtual bool needsFirstStarted() const { return false; }
    /// Restores content of the images that can be created from outside of the namespaces.
    virtual void fill(const kernel::ProcPid& /*first*/) {}
    /// Blocks all external events, such as packets, until open().
    virtual void close() {}

    // Functions that the first process calls, while it has one thread

    /// Enters namespaces in which the first process wasn't created. The process still has criu's credentials.
    virtual void enterFirst(const FirstProcess& /*first*/) {}
    /// Creates content that can be created only inside of the namespaces. Called after enterFirst() of all kinds.
    virtual void build() {}

    // Functions that every live process calls, including the first process

    /// Enters the namespaces that the process needs to open its files.
    virtual void enter(const model::Task& /*task*/) const {}
    /// Enters the remaining namespaces of the process, and restores content that belongs to one process. Called after
    /// the process has opened its files.
    virtual void complete(const model::Task& /*task*/) const {}
    /// Enters in another thread the namespaces that complete() has entered in the thread group leader. Called after
    /// complete().
    virtual void completeThread(const model::Task& /*task*/) const {}

    // Functions that the coordinator calls while all processes are frozen

    /// Called after all processes have their memory.
    virtual void finish(const kernel::ProcPid& /*first*/) {}
    /// Removes objects of criu in the namespaces. Called when the tree no longer needs these objects.
    virtual void clean(std::span<const ParkedProcess> /*processes*/) {}
    /// Ends the blocking of external events that close() has begun.
    virtual void open() {}
    /// Called when the restore has succeeded. Changes outside of the tree then become permanent.
    virtual void commit() noexcept {}
};

/// Creates the restore half for a namespace kind that --join-ns names. The root enters the named namespace.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeJoinedRestore(const RestoreInputs& inputs,
                                                                  kernel::NamespaceKind kind);

// Functions that create the restore halves of namespace kinds. Each is defined in the file of its namespace kind. It
// returns null if the kind has nothing to restore.

/// Restores the UTS namespace of a tree (uts_namespaces(7)). It creates one with the names of the images, or joins one.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeUtsRestore(const RestoreInputs& inputs);
/// Restores the time namespace of a tree (time_namespaces(7)), so that clocks continue from the dump. Creates a
/// namespace if the kernel permits this, or joins one.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeTimeRestore(const RestoreInputs& inputs);
/// Restores the IPC namespace of a tree (ipc_namespaces(7)). Creates one with the objects of the images, or joins one.
/// For a tree in criu's namespace, only sets RestoreNsContext::systemV and returns null.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeIpcRestore(const RestoreInputs& inputs);
/// Restores the user namespace of a tree (user_namespaces(7)).
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeUserRestore(const RestoreInputs& inputs);
/// Restores the cgroup namespace of a tree (cgroup_namespaces(7)). The roots of the namespace are cgroups that `groups`
/// creates.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeCgroupRestore(const RestoreInputs& inputs,
                                                                  cgroup::CgroupRestore& groups);

/// Runs `work` in a new thread in a process' namespace of this kind. The message of a thrown Error contains the kind's
/// name.
void visitNamespace(const kernel::ProcPid& process, kernel::NamespaceKind kind, const Work& work);

}  // namespace criu::namespaces
