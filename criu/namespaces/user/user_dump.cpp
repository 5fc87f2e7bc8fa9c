// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/sharing.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/timers.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/non_root_ns_dump.hpp"
#include "criu/task/security_label.hpp"

/// Dump of user namespaces (user_namespaces(7)) with their id maps.
namespace criu::namespaces {
namespace {

/// Returns true for kinds of namespaces that a restore creates in the nested user namespace that owns them. Namespaces
/// of other kinds are created for the tree's user namespace, because their owner matters only to processes with
/// capabilities in it.
bool isMadeByOwner(kernel::NamespaceKind kind) {
    using kernel::NamespaceKind;
    return kind == NamespaceKind::Uts || kind == NamespaceKind::Ipc || kind == NamespaceKind::Mount ||
           kind == NamespaceKind::Net;
}

/// Reads a file of /proc. The kernel checks the credentials with which the file was opened.
std::string textOf(int file, std::string_view name) {
    std::string text;
    std::array<char, 4096> part{};
    for (;;) {
        const auto size = sys(::read(file, part.data(), part.size()), "read {}", name);
        if (size == 0)
            return text;
        text.append(part.data(), static_cast<std::size_t>(size));
    }
}

/// Reads the id maps of a namespace that no process is in. The outer ids are ids of the calling process' namespace.
model::IdMap idsWithin(int users) {
    constexpr const char* kFiles[] = {"uid_map", "gid_map", "setgroups"};
    const int spaces[] = {users};
    const auto opened = kernel::openInNamespaces(spaces, {}, [&] {
        std::map<int, UniqueFd> files;
        for (int at = 0; at < 3; ++at)
            files.emplace(at, kernel::ProcDir().self().open(kFiles[at], O_RDONLY));
        return files;
    });
    const auto text = [&](int at) { return textOf(opened.at(at).get(), kFiles[at]); };
    return {model::parseIdMap(text(0)), model::parseIdMap(text(1)), text(2).starts_with("deny")};
}

/// Dump of user namespaces. A restore creates the tree in its private user namespace only if the tree also has a
/// private pid namespace; else in criu's. The reason is that only root of the user namespace that owns a pid namespace
/// can choose pids. Processes may be in nested user namespaces.
class UserDump final : public NamespaceDump {
public:
    explicit UserDump(const DumpInputs& with)
        : NamespaceDump(kernel::NamespaceKind::User, with), others_(kind(), with) {
        const SeenProcess& root = with.tree.root();
        const bool outside = isOwn() && !with.numbers.isOwn(kernel::NamespaceKind::Pid);
        ownPids_ = isOwn() && !outside;
        if (ownPids_)
            with.nsContext.ids = model::IdMap::ofProcess(root.dir);
        if (outside && with.options.compat)
            fail("{} is in a user namespace of its own, but not in a pid namespace, which CRIU 4.2 can't restore",
                 root.describe());
        if (outside)
            look(root, rootNumber());
        for (const auto& space : others_.all())
            look(*space.member, space.number);
        for (std::size_t at = 0; at < further_.size(); ++at)
            place(at);
        for (const SeenProcess& process : with.tree.processes)
            noteOwned(process);
        requireMembers();
    }

    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override {
        const auto* const space = others_.of(process);
        return space != nullptr ? space->number : rootNumber();
    }

    /// Returns nullopt for a nested user namespace, because a process opens its files before it enters this namespace.
    [[nodiscard]] std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const override {
        return isFurther(inode) ? std::nullopt : NamespaceDump::numberOfInode(inode);
    }

    void write(const DumpOutputs& outputs) override {
        if (inputs().nsContext.ids.isOwnNamespace())
            inputs().nsContext.ids.write(outputs.images, rootNumber());
        for (const Further& space : further_) {
            model::UserNsPosition place = space.place;
            for (const auto& [other, member] : space.owned)
                place.owned.push_back(inputs().nsContext.numberOf(other, member));
            space.ids.write(outputs.images, space.number, &place);
        }
        others_.noteExtension(outputs);
        if (!further_.empty() && others_.empty())
            outputs.extensions.emplace_back(kNonRootNsExtension);
    }

private:
    /// Nested user namespace.
    struct Further {
        std::uint32_t inode;
        std::uint32_t number;  ///< namespace id
        std::string name;      ///< description for messages
        UniqueFd fd;
        /// Id map with outer ids of criu's namespace; place() translates these to ids of the parent.
        model::IdMap ids;
        model::UserNsPosition place;  ///< parent and owner; write() adds the namespaces that it owns
        /// Namespaces that the user namespace owns: the kind, and a process in the namespace.
        std::vector<std::pair<kernel::NamespaceKind, HostPid>> owned;
    };

    void look(const SeenProcess& member, std::uint32_t number) {
        UniqueFd fd = member.dir.open("ns/user", O_RDONLY);
        const std::uint32_t inode = kernel::namespaceInode(fd.get());
        further_.push_back({inode,
                            number,
                            fmt::format("the user namespace of {}", member.describe()),
                            std::move(fd),
                            model::IdMap::ofProcess(member.dir),
                            {},
                            {}});
    }

    /// Adds a user namespace that no process is in, but that owns another namespace or is the parent of a user
    /// namespace.
    Further& addEmpty(UniqueFd fd, const std::string& name) {
        if (inodeAbove(fd.get(), name) != usersOfTree())
            fail(
                "{} is one of which no process is a member, below another one than that in which the tree is "
                "restored, which can't be dumped yet",
                name);
        model::IdMap ids = idsWithin(fd.get());
        if (ownPids_)
            fail("{} is one of which no process is a member, below that of the tree, which can't be dumped yet", name);
        further_.push_back({kernel::namespaceInode(fd.get()),
                            inputs().numbers.addOther(),
                            name,
                            std::move(fd),
                            std::move(ids),
                            {},
                            {}});
        return further_.back();
    }

    static std::uint32_t inodeAbove(int space, const std::string& name) {
        const UniqueFd above(::ioctl(space, NS_GET_PARENT));
        if (!above && errno == EPERM)
            fail("{} isn't below that of criu, and can't be dumped", name);
        if (!above)
            failErrno("find the parent of {}", name);
        return kernel::namespaceInode(above.get());
    }

    /// Finds the parent and the owner of the user namespace with index `at`.
    void place(std::size_t at) {
        const std::string name = further_[at].name;
        const std::uint32_t inode = inodeAbove(further_[at].fd.get(), name);
        uid_t owner = 0;
        sys(::ioctl(further_[at].fd.get(), NS_GET_OWNER_UID, &owner), "ask who owns {}", name);
        model::IdMap above = inputs().nsContext.ids;
        std::uint32_t parent = 0;
        if (inode != usersOfTree()) {
            const Further* found = find(inode);
            if (found == nullptr)
                found = &addEmpty(UniqueFd(sys(::ioctl(further_[at].fd.get(), NS_GET_PARENT), "open it")),
                                  fmt::format("the user namespace above that of {}", name));
            parent = found->number;
            above = originalIds(*found);
        }
        Further& space = further_[at];
        space.place.parent = parent;
        space.place.owner = above.needInnerUid(owner, fmt::format("the owner of {}", name));
        original_.emplace(space.inode, space.ids);
        space.ids = space.ids.seenFrom(above);
    }

    /// Returns the id map of a namespace. The outer ids are ids of criu's namespace.
    [[nodiscard]] const model::IdMap& originalIds(const Further& space) const {
        const auto found = original_.find(space.inode);
        return found != original_.end() ? found->second : space.ids;
    }

    [[nodiscard]] const Further* find(std::uint32_t inode) const {
        const auto found = std::find_if(further_.begin(), further_.end(),
                                        [inode](const Further& space) { return space.inode == inode; });
        return found != further_.end() ? &*found : nullptr;
    }

    [[nodiscard]] bool isFurther(std::optional<std::uint32_t> inode) const { return inode && find(*inode) != nullptr; }

    /// Finds those namespaces of a process that nested user namespaces own.
    void noteOwned(const SeenProcess& process) {
        for (const kernel::NamespaceKind other : kNsIdOrder) {
            const auto inode = process.ids.of(other);
            if (other == kind() || !inode || inode == inputs().tree.criu.of(other) || !seen_.insert(*inode).second)
                continue;
            const std::string_view name = kernel::namespaceName(other);
            const UniqueFd space = process.dir.open(fmt::format("ns/{}", name), O_RDONLY);
            UniqueFd owner(::ioctl(space.get(), NS_GET_USERNS));
            if (!owner && errno == EPERM) {  // the owner is above criu's user namespace
                noteAbove(process, other);
                continue;
            }
            if (!owner)
                failErrno("ask who owns a {} namespace", name);
            const std::uint32_t ofOwner = kernel::namespaceInode(owner.get());
            if (ofOwner == usersOfTree())
                continue;
            const std::string whose = fmt::format("the owner of the {} namespace of {}", name, process.describe());
            if (!isFurther(ofOwner)) {
                const UniqueFd above(::ioctl(owner.get(), NS_GET_PARENT));
                if (!above && errno == EPERM) {
                    noteAbove(process, other);
                    continue;
                }
                if (!above)
                    failErrno("find the parent of {}", whose);
                addEmpty(std::move(owner), whose);
                place(further_.size() - 1);
            }
            own(process, other, *std::find_if(further_.begin(), further_.end(), [ofOwner](const Further& one) {
                    return one.inode == ofOwner;
                }));
        }
    }

    /// Warns that root of the tree's user namespace will have capabilities over a restored namespace, although no
    /// process of the dumped tree had them.
    void noteAbove(const SeenProcess& process, kernel::NamespaceKind other) const {
        if (ownPids_)
            inputs().log.loss(
                Loss::Owners,
                "The {} namespace of {} belongs to a user namespace above that of the tree; a restore makes one that "
                "belongs to the latter, whose root may change it",
                kernel::namespaceName(other), process.describe());
    }

    void own(const SeenProcess& process, kernel::NamespaceKind other, Further& owner) const {
        const std::string_view name = kernel::namespaceName(other);
        if (inputs().options.compat)
            fail(
                "the {} namespace of {} belongs to a user namespace other than that of the tree, which CRIU 4.2 can't "
                "restore",
                name, process.describe());
        if (!isMadeByOwner(other)) {
            inputs().log.loss(
                Loss::Owners,
                "The {} namespace of {} belongs to a user namespace other than that of the tree; a restore makes one "
                "that belongs to the latter",
                name, process.describe());
            return;
        }
        if (ownPids_ && other != kernel::NamespaceKind::Mount)
            fail(
                "the {} namespace of {} belongs to a user namespace below that of the tree, which has one of its own, "
                "and can't be dumped yet",
                name, process.describe());
        if (other == kernel::NamespaceKind::Net && process.ids.of(other) == inputs().tree.root().ids.of(other))
            fail(
                "the {} namespace of the root of the tree, {}, belongs to a user namespace other than that of the "
                "tree, which can't be dumped yet",
                name, process.describe());
        owner.owned.emplace_back(other, process.pid);
    }

    /// Throws Error if a process couldn't enter its nested user namespace, which it enters last.
    void requireMembers() const {
        if (further_.empty())
            return;
        for (const SeenProcess& process : inputs().tree.processes) {
            if (!isFurther(process.ids.of(kind())))
                continue;
            // Accepts an empty pid namespace for children, because the process creates it before it enters its user
            // namespace.
            if (!process.ids.pidForChildren ||
                process.ids.timeForChildren != process.ids.of(kernel::NamespaceKind::Time))
                fail(
                    "{} has its children in other namespaces than its own, and is in a user namespace other than that "
                    "of the tree, which can't be dumped yet",
                    process.describe());
            if (process.threads.size() > 1)
                requireThreads(process);
        }
        requireOwnDescriptors();
    }

    /// Throws Error if criu couldn't create the threads of a process in its nested user namespace. A restore creates
    /// them when the process has entered the namespace, because setns(2) requires a process with one thread.
    static void requireThreads(const SeenProcess& process) {
        // The kernel doesn't create threads in a process whose children are born in another pid namespace
        // (copy_process() in kernel/fork.c).
        if (process.ids.pidForChildren != process.ids.of(kernel::NamespaceKind::Pid))
            fail(
                "{} has several threads, has its children in another pid namespace than its own, and is in a user "
                "namespace other than that of the tree, which can't be dumped yet",
                process.describe());
        kernel::ProcBuffer buffer;
        const kernel::TaskStatus first = kernel::readThreadStatus(process.dir, process.threads.front().value, buffer);
        for (const HostPid thread : process.threads) {
            const kernel::TaskStatus status = kernel::readThreadStatus(process.dir, thread.value, buffer);
            if (status.uid != first.uid || status.gid != first.gid || status.groups != first.groups)
                fail(
                    "thread {} of {} has other users or groups than the process, which is in a user namespace other "
                    "than that of the tree, and can't be dumped yet",
                    thread, process.describe());
        }
        for (const kernel::KcmpType kind : {kernel::KcmpType::Fs, kernel::KcmpType::SysvSem}) {
            const kernel::Sharing objects(process.threads, kind);
            for (const HostPid thread : process.threads)
                if (objects.firstOf(thread) != objects.firstOf(process.threads.front()))
                    fail(
                        "thread {} of {} has a working directory or semaphore adjustments of its own, and is in a user "
                        "namespace other than that of the tree, which can't be dumped yet",
                        thread, process.describe());
        }
        // A late timer needs CAP_WAKE_ALARM in the initial user namespace (alarm_timer_create() in
        // kernel/time/alarmtimer.c).
        for (const kernel::PosixTimer& timer : kernel::readTimers(process.dir, buffer))
            if (kernel::isAlarmClock(timer.clock))
                fail(
                    "{} has several threads and a timer that wakes the machine (CLOCK_REALTIME_ALARM or "
                    "CLOCK_BOOTTIME_ALARM), and is in a user namespace other than that of the tree, which can't be "
                    "dumped yet",
                    process.describe());
        if (const auto label = task::securityLabel(process.dir);
            label && label != task::securityLabel(kernel::ProcDir().self()))
            fail(
                "{} has several threads and the security label {}, and is in a user namespace other than that of the "
                "tree, which can't be dumped yet",
                process.describe(), *label);
    }

    void requireOwnDescriptors() const {
        const auto& processes = inputs().tree.processes;
        std::unordered_map<HostPid, const SeenProcess*> byPid;  // by a living thread
        std::vector<HostPid> pids;
        for (const SeenProcess& process : processes) {
            byPid.emplace(process.threads.front(), &process);
            pids.push_back(process.threads.front());
        }
        const kernel::Sharing tables(std::move(pids), kernel::KcmpType::Files);
        for (const SeenProcess& process : processes) {
            const SeenProcess* one = &process;
            const SeenProcess* other = byPid.at(tables.firstOf(process.threads.front()));
            if (one == other)
                continue;
            if (!isFurther(one->ids.of(kind())))
                std::swap(one, other);
            if (isFurther(one->ids.of(kind())))
                fail(
                    "{} shares its descriptors with {}, and is in a user namespace other than that of the tree, which "
                    "can't be dumped yet",
                    one->describe(), other->describe());
        }
    }

    NonRootNsDump others_;
    bool ownPids_ = false;  ///< true if the tree is restored in a private user namespace
    std::vector<Further> further_;
    /// Id maps whose outer ids are ids of criu's namespace; the key is the inode of the user namespace.
    std::map<std::uint32_t, model::IdMap> original_;
    std::set<std::uint32_t> seen_;  ///< inodes of namespaces that noteOwned() has examined
};

}  // namespace

std::unique_ptr<NamespaceDump> makeUserDump(const DumpInputs& inputs) {
    return std::make_unique<UserDump>(inputs);
}

}  // namespace criu::namespaces
