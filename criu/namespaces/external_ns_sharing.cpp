// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/external_ns_sharing.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/kernel/proc/mountinfo.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Namespace kinds whose external sharing is checked here. For the other kinds, processes share no content, or other
/// code makes the check.
constexpr NamespaceKind kKindsShared[] = {NamespaceKind::Mount, NamespaceKind::Net, NamespaceKind::User,
                                          NamespaceKind::Uts, NamespaceKind::Ipc};

/// Returns the text of the link in /proc/PID/ns. A mount of a named namespace has this text as its root in mountinfo.
std::string linkOf(NamespaceKind kind, std::uint32_t inode) {
    return fmt::format("{}:[{}]", kernel::namespaceName(kind), inode);
}

/// Returns "is called PATH outside" if the namespace is mounted at a path in criu's mount namespace.
std::optional<std::string> nameOf(NamespaceKind kind, std::uint32_t inode, const kernel::MountTable& mounts) {
    const std::string link = linkOf(kind, inode);
    for (const kernel::MountInfo& mount : mounts.all())
        if (mount.fsType == "nsfs" && mount.root == link)
            return fmt::format("is called {} outside", mount.mountPoint);
    return std::nullopt;
}

std::string describeProcess(pid_t pid) {
    return fmt::format("has process {} in it, too, which isn't part of the tree", pid);
}

/// Returns true if the process has ended, or if criu may not inspect it. Such a process shares no namespace with the
/// tree, because criu may inspect every process that does.
bool isGoneOrInaccessible(const Error& error) {
    return error.code() == ENOENT || error.code() == ESRCH || error.code() == EACCES || error.code() == EPERM;
}

class Sharing {
public:
    explicit Sharing(const DumpInputs& inputs) : inputs_(inputs) {
        const SeenTree& tree = inputs.tree;
        for (const SeenProcess& process : tree.processes)
            for (const NamespaceKind kind : kKindsShared)
                if (const auto inode = process.ids.of(kind); inode && inode != tree.root().ids.of(kind) &&
                                                             inode != tree.criu.of(kind) && !isExternal(kind, *inode))
                    further_.emplace(std::pair(kind, *inode), &process);
    }

    void require() const {
        if (further_.empty())
            return;
        kernel::ProcBuffer buffer;
        const kernel::MountTable mounts = kernel::readMountInfo(kernel::ProcDir().self(), buffer);
        for (const auto& [space, member] : further_)
            if (const auto name = nameOf(space.first, space.second, mounts))
                report(space.first, *member, *name);
        const kernel::ProcDir proc;
        for (const pid_t pid : proc.processes())
            if (!inputs_.tree.pids.contains(HostPid(pid)))
                compare(proc, pid);
    }

private:
    using Space = std::pair<NamespaceKind, std::uint32_t>;

    [[nodiscard]] bool isExternal(NamespaceKind kind, std::uint32_t inode) const {
        const auto& externals = inputs_.options.externals;
        return kind == NamespaceKind::Net &&
               std::any_of(externals.begin(), externals.end(), [inode](const model::External& external) {
                   return external.type == model::ExternalType::Net && external.id == std::to_string(inode);
               });
    }

    void compare(const kernel::ProcDir& proc, pid_t pid) const {
        try {
            const kernel::ProcPid process = proc.open(pid);
            for (const NamespaceKind kind : kKindsShared) {
                if (!std::any_of(further_.begin(), further_.end(),
                                 [kind](const auto& one) { return one.first.first == kind; }))
                    continue;
                const auto inode = kernel::readNamespaceId(process, kind);
                if (const auto found = inode ? further_.find({kind, *inode}) : further_.end(); found != further_.end())
                    report(kind, *found->second, describeProcess(pid));
            }
        } catch (const Error& error) {
            if (!isGoneOrInaccessible(error))
                throw;
        }
    }

    void report(NamespaceKind kind, const SeenProcess& member, const std::string& what) const {
        const std::string text =
            fmt::format("the {} namespace of {} {}", kernel::namespaceName(kind), member.describe(), what);
        const bool needed = kind == NamespaceKind::Mount || kind == NamespaceKind::Net;
        if (!needed || inputs_.options.finalState == model::FinalState::Running) {
            if (warned_.emplace(kind, member.ids.of(kind).value_or(0)).second)
                inputs_.log.loss(Loss::Sharing,
                                 "A restore creates a separate namespace, which external processes aren't in: {}",
                                 text);
            return;
        }
        Error error(0, fmt::format("{}: a restored process would be in another one, apart from that", text));
        error.addHint(kind == NamespaceKind::Net
                          ? fmt::format("name it with --external net[{}]:NAME", member.ids.of(kind).value_or(0))
                          : std::string("dump who else is in it with the tree"));
        throw error;
    }

    const DumpInputs& inputs_;
    std::map<Space, const SeenProcess*> further_;  ///< namespaces to check; the value is a process in the namespace
    mutable std::set<Space> warned_;
};

}  // namespace

void requireNoExternalSharing(const DumpInputs& inputs) {
    Sharing(inputs).require();
}

std::optional<std::string> externalHolder(kernel::NamespaceKind kind, std::uint32_t inode) {
    kernel::ProcBuffer buffer;
    const kernel::ProcDir proc;
    if (auto name = nameOf(kind, inode, kernel::readMountInfo(proc.self(), buffer)))
        return name;
    for (const pid_t pid : proc.processes()) {
        try {
            if (kernel::readNamespaceId(proc.open(pid), kind) == inode)
                return describeProcess(pid);
        } catch (const Error& error) {
            if (!isGoneOrInaccessible(error))
                throw;
        }
    }
    return std::nullopt;
}

}  // namespace criu::namespaces
