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

/// The restore half of namespace kinds. The engine has a list of them (engine/namespace_kinds) and loops over it at
/// each step; what a kind does at a step is known to its own file only.
namespace criu::namespaces {

using Work = std::function<void()>;

/// Moves a descriptor that only the calling process has out of the numbers of restored ones.
using MoveFd = std::function<UniqueFd(UniqueFd)>;

/// What is around restored processes and isn't as it is for criu. Kinds say here what they change, when they are made;
/// everybody else asks here and need not know which kind it comes from. Filled in completely before prepare() of the
/// first kind.
struct RestoreNsContext {
    /// How users and groups are called. With a map of its own the tree has no rights outside: a process of it can't
    /// raise its limits, for example.
    model::IdMap ids;
    /// Does for processes of the tree what they have no right to; null where they may do everything themselves.
    const kernel::Usernsd* usernsd = nullptr;
    /// The user namespace below that one that a process goes to when it gets its credentials; null: it stays there. The
    /// descriptor, which all restored processes have, is known when kinds are prepared.
    std::function<const UniqueFd*(const model::Task&)> usernsOf = [](const model::Task&) { return nullptr; };
    /// The user namespace below that one to which a further namespace of another kind, by its number in images,
    /// belongs; null: it belongs to that one. In the first process from begin() on, or from build() on if the tree has
    /// a user namespace of its own.
    std::function<const UniqueFd*(std::uint32_t number)> ownerOf = [](std::uint32_t) { return nullptr; };
    /// Numbers of processes are those of another pid namespace than criu's.
    bool ownPids = false;
    /// That namespace is the tree's own, and ends with its first process, which is the root or an init.
    bool endsWithFirst = false;
    /// Name of that namespace for --inherit-fd, if it is an external one.
    std::string givenPids;
    /// The first process of that namespace if it is an init of criu's and not the root of the tree; known when the root
    /// exists.
    HostPid init;
    /// Paths lead to mounts that the tree has for itself: the first process makes deleted files there.
    bool ownPaths = false;
    /// And these show the files that criu's show.
    bool sameFiles = false;
    /// The tree's network is one that the dump has locked as a whole.
    bool ownNetwork = false;
    /// The number, in images, of the System V objects that the tree used while it was in criu's IPC namespace; 0: it
    /// was in another one.
    std::uint32_t systemV = 0;

    /// The number of the mount namespace that has a mount, by its id in images; 0: it isn't one of the tree's own.
    std::function<std::uint32_t(int mount)> mountSpaceOf = [](int) { return 0U; };
    /// In a restored process: runs `work` where names of sockets lead into this mount namespace (0: any).
    std::function<void(std::uint32_t space, const MoveFd& move, const Work& work)> inSocketNameNs =
        [](std::uint32_t, const MoveFd&, const Work& work) { work(); };
    /// Runs `work` where paths lead where they lead for a restored process (its pid as criu has it).
    std::function<void(HostPid process, const Work& work)> withPathsOf = [](HostPid, const Work& work) { work(); };
    /// Runs `work` in the network namespace of the tree's first process, when that is complete.
    std::function<void(const Work& work)> inNetwork = [](const Work& work) { work(); };
    /// In a restored process: runs `work` where a socket of this network namespace (number in images; 0: any) is to be
    /// made.
    std::function<void(std::uint32_t number, const MoveFd& move, const Work& work)> inSocketNetNs =
        [](std::uint32_t, const MoveFd&, const Work& work) { work(); };
};

/// What kinds are made from. All of it outlives them.
struct RestoreInputs {
    const model::Options& options;
    Log& log;
    const ImageDir& images;
    const memory::PageSources& pages;
    /// To be called between pieces of bulk data: throws when the restore is to end.
    const std::function<void()>& checkStop;
    const model::ProcessTree& tree;
    /// Numbers of the namespaces that the dumping criu was in; null in old images.
    const TaskKobjIdsEntry* outside;
    /// Numbers of network namespaces that files are of, each with such a file.
    const std::map<std::uint32_t, FileId>& networksOfFiles;
    const JoinedNamespaces& joined;
    RestoreNsContext& surroundings;
};

/// The numbers that images give to the namespaces of one kind that processes were in.
struct KindNsIds {
    std::uint32_t own = 0;              ///< of the first process' namespace; 0: that of criu, or images don't say
    std::vector<std::uint32_t> others;  ///< of further processes, each once, as the processes come

    /// Throws Error if the first process was where criu was, and others weren't.
    static KindNsIds of(const RestoreInputs& inputs, kernel::NamespaceKind kind);
    /// The same, but the first process may have been where criu was. Throws Error if images don't say where another
    /// was.
    static KindNsIds ofAny(const RestoreInputs& inputs, kernel::NamespaceKind kind);
    /// For a kind of which all processes have to be in one namespace. Throws Error if they weren't.
    static KindNsIds ofOne(const RestoreInputs& inputs, kernel::NamespaceKind kind);
};

/// Where the first process of the tree stands when it goes to its namespaces.
struct FirstProcess {
    const model::Task& task;
    /// The set of cgroups that it is in; whoever moves it says so here.
    std::uint32_t& cgroups;
};

/// A process of the tree that waits for its registers.
struct ParkedProcess {
    const model::Task& task;
    HostPid pid;
};

/// One kind of namespace in one restore. Made when the restore is planned: the constructor reads and checks what images
/// say, throws Error for what can't be restored, and changes nothing. Then the steps follow in the order in which they
/// are declared; a kind implements those that it needs. If the restore fails the destructor takes back what the kind
/// has done outside of the tree's processes, which have ended by then.
///
/// Numbers are those of each process' own image, so a kind may have several namespaces in one tree.
class NamespaceRestore {
public:
    NamespaceRestore() = default;
    virtual ~NamespaceRestore() = default;
    NamespaceRestore(const NamespaceRestore&) = delete;
    NamespaceRestore& operator=(const NamespaceRestore&) = delete;

    // By criu, before there is any process.

    /// How many descriptors prepare() is going to move.
    [[nodiscard]] virtual std::size_t descriptors() const { return 0; }

    /// Has the descriptor that --inherit-fd gives for a name; -1: none.
    using Inherited = std::function<int(std::string_view name)>;
    /// Opens what is outside of the tree and needed inside of it.
    virtual void prepare(kernel::FdStore& /*store*/, const Inherited& /*inherited*/) {}

    // By whoever creates a process.

    /// CLONE_NEW… of what a process is to be born in. Its creator is in the namespaces of its own image.
    [[nodiscard]] virtual std::uint64_t birthFlags(const model::Task& /*task*/) const { return 0; }
    /// By criu: runs `create`, which creates the first process, where its namespaces come from. In the new process that
    /// doesn't return.
    virtual HostPid createFirstProcess(const std::function<HostPid()>& create) { return create(); }

    // By criu, while the first process of the tree, a /proc/PID, waits; begin() runs in that process meanwhile, but if
    // needsFirstStarted() says so it has come to an end before fill().

    /// In the first process, before anything else.
    virtual void begin() {}
    /// The first process exists. Comes back when it is where it belongs, so that scripts may look at it.
    virtual void firstCreated(const kernel::ProcPid& /*first*/) {}
    [[nodiscard]] virtual bool needsFirstStarted() const { return false; }
    /// Puts in from outside what the images have.
    virtual void fill(const kernel::ProcPid& /*first*/) {}
    /// From here to open() nothing that comes from outside may reach the tree.
    virtual void close() {}

    // By the first process, which has one thread.

    /// Goes to namespaces that it wasn't born in, with the rights of criu.
    virtual void enterFirst(const FirstProcess& /*first*/) {}
    /// When all kinds have done that: makes from inside what can only be made there.
    virtual void build() {}

    // By every process that is alive, the first included.

    /// Goes to what it needs to open its files.
    virtual void enter(const model::Task& /*task*/) const {}
    /// When its files are open: goes to what else it was in, and gets what a namespace holds for a process.
    virtual void complete(const model::Task& /*task*/) const {}
    /// The same in a thread of the process that exists already, when the leader has done that: goes where it has gone.
    virtual void completeThread(const model::Task& /*task*/) const {}

    // By criu, while all processes stand still.

    /// All have their memory.
    virtual void finish(const kernel::ProcPid& /*first*/) {}
    /// Nothing in the tree needs criu's own things any more: takes them out.
    virtual void clean(std::span<const ParkedProcess> /*processes*/) {}
    /// Lets through what close() holds back.
    virtual void open() {}
    /// The restore has come through: what was done stays.
    virtual void commit() noexcept {}
};

/// For a kind of which --join-ns names a namespace: the first process goes there.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeJoinedRestore(const RestoreInputs& inputs,
                                                                  kernel::NamespaceKind kind);

/// Runs `work` in a process' namespace of this kind, in a thread of its own. Throws Error with the kind's name.
void visitNamespace(const kernel::ProcPid& process, kernel::NamespaceKind kind, const Work& work);

}  // namespace criu::namespaces
