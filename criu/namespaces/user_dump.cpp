// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/nsfs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/kcmp.hpp"
#include "criu/kernel/procdir.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/further_dump.hpp"
#include "criu/namespaces/namespace_dump.hpp"

/// User namespaces (user_namespaces(7)): maps of users and groups.
namespace criu::namespaces {
namespace {

std::uint32_t inodeOf(int fd) {
    struct stat status {};
    sys(::fstat(fd, &status), "look at a user namespace");
    return static_cast<std::uint32_t>(status.st_ino);
}

/// The tree is restored in one user namespace: its own, if it has a pid namespace of its own as well, else that of
/// criu, since only root of the user namespace that a pid namespace belongs to chooses pids there. Processes may be in
/// further ones below that.
class UserDump final : public NamespaceDump {
public:
    explicit UserDump(const DumpInputs& with)
        : NamespaceDump(kernel::NamespaceKind::User, with), others_(kind(), with) {
        const SeenProcess& root = with.tree.root();
        const bool outside = isOwn() && !with.numbers.isOwn(kernel::NamespaceKind::Pid);
        if (isOwn() && !outside)
            with.surroundings.ids = model::IdMap::ofProcess(root.dir);
        if (outside && with.options.compat)
            fail("{} is in a user namespace of its own, but not in a pid namespace, which CRIU 4.2 can't restore",
                 root.describe());
        if (outside)
            further_.push_back(look(root, rootNumber()));
        for (const auto& space : others_.all())
            further_.push_back(look(*space.member, space.number));
        if (!further_.empty())
            requireMembers();
    }

    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override {
        const auto* const space = others_.of(process);
        return space != nullptr ? space->number : rootNumber();
    }

    /// A process opens its files before it enters such a one.
    [[nodiscard]] std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const override {
        return isFurther(inode) ? std::nullopt : NamespaceDump::numberOfInode(inode);
    }

    void write(const DumpOutputs& outputs) override {
        if (inputs().surroundings.ids.isOwnNamespace())
            inputs().surroundings.ids.write(outputs.images, rootNumber());
        for (const Further& space : further_)
            space.ids.write(outputs.images, space.number, space.owner);
        others_.noteExtension(outputs);
        if (!further_.empty() && others_.empty())
            outputs.extensions.emplace_back(kFurtherNamespaces);
    }

private:
    /// One below that in which the tree is restored.
    struct Further {
        std::uint32_t inode;
        std::uint32_t number;  ///< in images
        model::IdMap ids;      ///< outer ones: as the tree calls them
        std::uint32_t owner;   ///< likewise
    };

    [[nodiscard]] Further look(const SeenProcess& member, std::uint32_t number) const {
        const UniqueFd fd = member.dir.open("ns/user", O_RDONLY);
        const UniqueFd above(sys(::ioctl(fd.get(), NS_GET_PARENT), "ask what is above a user namespace"));
        if (inodeOf(above.get()) != usersOfTree())
            fail("{} is in a user namespace below another one of the tree, which can't be dumped yet",
                 member.describe());
        uid_t owner = 0;
        sys(::ioctl(fd.get(), NS_GET_OWNER_UID, &owner), "ask who owns a user namespace");
        const model::IdMap& ids = inputs().surroundings.ids;
        const std::string what = fmt::format("the owner of the user namespace of {}", member.describe());
        return {inodeOf(fd.get()), number, model::IdMap::ofProcess(member.dir).seenFrom(ids),
                ids.needInnerUid(owner, what)};
    }

    [[nodiscard]] bool isFurther(std::optional<std::uint32_t> inode) const {
        return inode && std::any_of(further_.begin(), further_.end(),
                                    [inode](const Further& space) { return space.inode == *inode; });
    }

    /// A restored process enters its user namespace last of all (setns(2): with one thread only), when its other
    /// namespaces have long been there.
    void requireMembers() const {
        std::set<std::uint32_t> seen;
        for (const SeenProcess& process : inputs().tree.processes) {
            for (const kernel::NamespaceKind other : kImageOrder)
                if (const auto inode = process.ids.of(other);
                    other != kind() && inode && seen.insert(*inode).second && isOwnedByFurther(process, other))
                    fail(
                        "the {} namespace of {} belongs to a user namespace other than that of the tree, which can't "
                        "be dumped yet",
                        kernel::namespaceName(other), process.describe());
            if (!isFurther(process.ids.of(kind())))
                continue;
            if (process.ids.pidForChildren != process.ids.of(kernel::NamespaceKind::Pid) ||
                process.ids.timeForChildren != process.ids.of(kernel::NamespaceKind::Time))
                fail(
                    "{} has its children in other namespaces than its own, and is in a user namespace other than that "
                    "of the tree, which can't be dumped yet",
                    process.describe());
            if (process.threads.size() > 1)
                fail(
                    "{} has several threads, and is in a user namespace other than that of the tree, which can't be "
                    "dumped yet",
                    process.describe());
            for (const SeenProcess& another : inputs().tree.processes)
                if (another.pid != process.pid &&
                    kernel::kcmp(process.pid.value, another.pid.value, kernel::KcmpType::Files) ==
                        std::partial_ordering::equivalent)
                    fail(
                        "{} shares its descriptors with {}, and is in a user namespace other than that of the tree, "
                        "which can't be dumped yet",
                        process.describe(), another.describe());
        }
    }

    [[nodiscard]] bool isOwnedByFurther(const SeenProcess& process, kernel::NamespaceKind other) const {
        const UniqueFd space = process.dir.open(fmt::format("ns/{}", kernel::namespaceName(other)), O_RDONLY);
        const UniqueFd owner(::ioctl(space.get(), NS_GET_USERNS));
        if (!owner && errno != EPERM)  // that is one above criu's
            failErrno("ask who owns a {} namespace", kernel::namespaceName(other));
        return owner && isFurther(inodeOf(owner.get()));
    }

    FurtherNamespacesDump others_;
    std::vector<Further> further_;
};

}  // namespace

std::unique_ptr<NamespaceDump> makeUserDump(const DumpInputs& inputs) {
    return std::make_unique<UserDump>(inputs);
}

}  // namespace criu::namespaces
