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

/// Restore half of namespace kinds. The engine has a list of kinds (engine/namespace_kinds) and calls each function for
/// all of them. Each kind is implemented in its own file.
namespace criu::namespaces {

using Work = std::function<void()>;

/// Function that moves a descriptor of the calling process to a number that no restored process uses.
using MoveFd = std::function<UniqueFd(UniqueFd)>;

/// Data about the restored namespaces that differ from criu's. The constructors of kinds set the fields, and code that
/// doesn't know the kinds reads them. It is complete before the first prepare().
struct RestoreNsContext {
    /// Translation of uids and gids. A tree with a private user namespace has no capabilities outside of it, so its
    /// processes can't raise their rlimits, for example.
    model::IdMap ids;
    /// Thread that makes privileged calls for processes of the tree; null if the tree has all capabilities.
    const kernel::Usernsd* usernsd = nullptr;
    /// Returns the nested user namespace that a process enters at its privilege drop, or null if it stays in the tree's
    /// user namespace. All restored processes inherit the descriptor. Set before prepare() of the kinds.
    std::function<const UniqueFd*(const model::Task&)> usernsOf = [](const model::Task&) { return nullptr; };
    /// Returns the nested user namespace that owns a non-root namespace of another kind, or null if the tree's user
    /// namespace owns it. `number`: namespace id. Valid in the first process, from begin() on. If the tree has a
    /// private user namespace, valid only from build() on.
    std::function<const UniqueFd*(std::uint32_t number)> ownerOf = [](std::uint32_t) { return nullptr; };
    /// True if the tree's pid namespace isn't criu's.
    bool ownPids = false;
    /// True if the tree's pid namespace is private. It ends with its first process, which is the root or a namespace
    /// init.
    bool endsWithFirst = false;
    /// Name for --inherit-fd of the tree's pid namespace, if the namespace is external.
    std::string givenPids;
    /// First process of the tree's pid namespace if it is a namespace init of criu, and not the root. Valid after the
    /// root exists.
    HostPid init;
    /// True if the tree has a private mount namespace. The first process then creates deleted files in it.
    bool ownPaths = false;
    /// True if the mounts of the private mount namespace show the same files as criu's mounts.
    bool sameFiles = false;
    /// True if the tree has a private network namespace, to which the dump applied the namespace lock.
    bool ownNetwork = false;
    /// Namespace id of criu's IPC namespace if the tree was in it. 0: the tree was in another IPC namespace.
    std::uint32_t systemV = 0;

    /// Returns the namespace id of the mount namespace that contains a mount, or 0 if it isn't a private one of the
    /// tree. `mount`: mount id in the images.
    std::function<std::uint32_t(int mount)> mountSpaceOf = [](int) { return 0U; };
    /// Runs `work` such that names of Unix sockets are resolved in the mount namespace `space` (0: in any). For
    /// restored processes.
    std::function<void(std::uint32_t space, const MoveFd& move, const Work& work)> inSocketNameNs =
        [](std::uint32_t, const MoveFd&, const Work& work) { work(); };
    /// Runs `work` in the mount namespace of a restored process. `process`: host pid.
    std::function<void(HostPid process, const Work& work)> withPathsOf = [](HostPid, const Work& work) { work(); };
    /// Runs `work` in the network namespace of the root. Must follow fill() of the network kind.
    std::function<void(const Work& work)> inNetwork = [](const Work& work) { work(); };
    /// Runs `work` such that new sockets belong to the network namespace with this namespace id (0: to any). For
    /// restored processes.
    std::function<void(std::uint32_t number, const MoveFd& move, const Work& work)> inSocketNetNs =
        [](std::uint32_t, const MoveFd&, const Work& work) { work(); };
};

/// Arguments of the constructors of all kinds. They must outlive the kinds.
struct RestoreInputs {
    const model::Options& options;
    Log& log;
    const ImageDir& images;
    const memory::PageSources& pages;
    /// Throws if the restore must stop. Long work must call it between pieces of data.
    const std::function<void()>& checkStop;
    const model::ProcessTree& tree;
    /// Namespace ids of the dumping criu; null in old images.
    const TaskKobjIdsEntry* outside;
    /// Network namespaces to which files refer; the key is the namespace id, and the value one of these files.
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
    /// Returns the ids for a kind, even if the root was in criu's namespace and other processes weren't. Throws Error
    /// if the images don't contain the namespace of such a process.
    static KindNsIds ofAny(const RestoreInputs& inputs, kernel::NamespaceKind kind);
    /// Returns the ids for a kind in which all processes must be in one namespace. Throws Error if they weren't.
    static KindNsIds ofOne(const RestoreInputs& inputs, kernel::NamespaceKind kind);
};

/// State of the root while it enters its namespaces.
struct FirstProcess {
    const model::Task& task;
    /// Cgroup set that the root is in. Code that moves the root to another set must update the value.
    std::uint32_t& cgroups;
};

/// Process of the tree that is parked.
struct ParkedProcess {
    const model::Task& task;
    HostPid pid;
};

/// Restore of one kind of namespace. The constructor runs when the restore is planned. It reads and checks images,
/// throws Error for state that can't be restored, and changes nothing.
/// criu calls the functions in the order of their declarations; a kind overrides the functions that it needs. If the
/// restore fails, criu has ended all processes of the tree, and the destructor reverts changes outside of them. A kind
/// may have several namespaces in one tree, so namespace ids come from the image of each process.
class NamespaceRestore {
public:
    NamespaceRestore() = default;
    virtual ~NamespaceRestore() = default;
    NamespaceRestore(const NamespaceRestore&) = delete;
    NamespaceRestore& operator=(const NamespaceRestore&) = delete;

    // Functions that the coordinator calls before any process exists

    /// Returns the number of descriptors that prepare() moves.
    [[nodiscard]] virtual std::size_t descriptors() const { return 0; }

    /// Function that returns the descriptor that the user gave for a name by --inherit-fd; -1 if the user gave none.
    using Inherited = std::function<int(std::string_view name)>;
    /// Opens external objects that the restored processes need.
    virtual void prepare(kernel::FdStore& /*store*/, const Inherited& /*inherited*/) {}

    // Functions that the creator of a process calls

    /// Returns the CLONE_NEW… flags for the birth of a process. The creator is in the namespaces of its own image.
    [[nodiscard]] virtual std::uint64_t birthFlags(const model::Task& /*task*/) const { return 0; }
    /// Calls `create`, which creates the first process, in the namespaces in which this process starts. Runs in the
    /// coordinator. In the new process, `create` doesn't return.
    virtual HostPid createFirstProcess(const std::function<HostPid()>& create) { return create(); }

    // Functions that the coordinator calls while the first process waits; `first` is the process' directory /proc/PID.
    // begin() runs in the first process at the same time. If needsFirstStarted() returns true, begin() has returned
    // before fill() is called.

    /// Runs in the first process, before all other functions of the first process.
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
    /// Enters the same namespaces as complete(), in another thread of the process. The thread group leader has called
    /// complete() before.
    virtual void completeThread(const model::Task& /*task*/) const {}

    // Functions that the coordinator calls while all processes are frozen

    /// Called after all processes have their memory.
    virtual void finish(const kernel::ProcPid& /*first*/) {}
    /// Removes objects of criu in the namespaces. Called when the tree no longer needs these objects.
    virtual void clean(std::span<const ParkedProcess> /*processes*/) {}
    /// Reverts the block of close().
    virtual void open() {}
    /// Called when the restore has succeeded. Changes outside of the tree then become permanent.
    virtual void commit() noexcept {}
};

/// Creates the restore half for a kind that --join-ns names. The root enters the named namespace.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeJoinedRestore(const RestoreInputs& inputs,
                                                                  kernel::NamespaceKind kind);

// Functions that create the restore halves of kinds. Each is defined in the file of its kind. It returns null if the
// kind has nothing to restore.

/// Restores the UTS namespace of a tree (uts_namespaces(7)). It creates one with the names of the images, or joins one.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeUtsRestore(const RestoreInputs& inputs);
/// Restores the time namespace of a tree (time_namespaces(7)). It creates or joins one if the kernel permits this,
/// because clocks continue from the dump.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeTimeRestore(const RestoreInputs& inputs);
/// Restores the IPC namespace of a tree (ipc_namespaces(7)). It creates one with the objects of the images, or joins
/// one. For a tree in criu's namespace, it only sets RestoreNsContext::systemV and returns null.
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
