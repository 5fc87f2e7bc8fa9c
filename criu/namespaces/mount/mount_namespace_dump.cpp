// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/mount/file_archive.hpp"
#include "criu/namespaces/mount/mount_dump.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

/// Properties that a mount and its copy in another namespace have in common.
using MountPlace = std::tuple<std::string, std::uint32_t, std::uint32_t, std::string>;

MountPlace placeOf(const kernel::MountInfo& mount) {
    return {mount.mountPoint, mount.devMajor, mount.devMinor, mount.root};
}

void warnOfOthers(const kernel::MountTable& copy, Log& log) {
    kernel::ProcBuffer buffer;
    std::set<MountPlace> outside;
    const kernel::MountTable own = kernel::readMountInfo(kernel::ProcDir().self(), buffer);
    for (const kernel::MountInfo& mount : own.all())
        outside.insert(placeOf(mount));
    for (const kernel::MountInfo& mount : copy.all())
        if (!outside.contains(placeOf(mount)) && !(mount.fsType == "proc" && mount.mountPoint == "/proc"))
            log.loss(Loss::Mounts, "The mount {} ({}) of the tree isn't among those of criu, and isn't dumped",
                     mount.mountPoint, mount.fsType);
}

/// Returns the root directory of a tree that is in a copy of criu's mount namespace. restore --new-pidns has created
/// this copy (mount_copied.hpp). Warns of each mount that the tree has added since, because the dump doesn't contain
/// such mounts. `process`: any process of the tree. Throws Error.
files::TreeRoot rootOfCopiedMounts(const kernel::ProcPid& process, Log& log) {
    const UniqueFd space = process.open("ns/mnt", O_RDONLY);
    files::TreeRoot::Space copy{UniqueFd(), kernel::MountTable({})};
    const kernel::ProcDir proc;
    kernel::runInMountNamespace(space.get(), [&] {
        copy.root.reset(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root of the mount namespace"));
        copy.mounts = kernel::MountTable(kernel::parseMountInfo(proc.readFile("thread-self/mountinfo")));
    });
    warnOfOthers(copy.mounts, log);
    std::vector<files::TreeRoot::Space> spaces;
    spaces.push_back(std::move(copy));
    return {std::move(spaces), {}, files::TreeRoot::Mounts::Copied};
}

/// Dump of mount namespaces. Processes may be in other namespaces than the root, and the root may be in criu's.
class MountNamespaceDump final : public NamespaceDump {
public:
    explicit MountNamespaceDump(const DumpInputs& with) : NamespaceDump(kernel::NamespaceKind::Mount, with) {
        if (!isOwn() && with.tree.copiedMounts) {
            requireOne();
            with.nsContext.root = rootOfCopiedMounts(with.tree.root().dir, with.log);
            return;
        }
        const std::vector<SeenNamespace> seen = number(with.tree);
        if (seen.empty())
            return;
        // If the root is in a nested user namespace, a restore creates even the root's mount namespace from criu's. So
        // the dump treats it like a namespace beside criu's.
        besideCriu_ = !isOwn() || (!with.nsContext.ids.isOwnNamespace() && belongsToOthers(with.tree.root()));
        if (besideCriu_)
            requirePossible(with.tree);
        with.log.stage("mounts");
        if (!kernel::canRestoreMountNamespaces())
            with.log.warn("This kernel can't restore the mount namespace of the tree: that needs {} or newer",
                          kernel::kMountNamespacesSince);
        content_.emplace(with.options,
                         besideCriu_ ? SeenMounts::FirstProcess::WithCriu : SeenMounts::FirstProcess::InItsOwn, seen,
                         with.tree, with.log, with.takeMount, with.refusals);
        with.nsContext.root = content_->treeRoot();
    }

    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override {
        const auto found = numbers_.find(process);
        return found == numbers_.end() ? rootNumber() : found->second;
    }

    /// Returns nullopt if the tree has several namespaces. The file plan may let any process open the descriptor, but a
    /// restored process can open only its own namespace.
    [[nodiscard]] std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const override {
        return severalSeen_ || besideCriu_ ? std::nullopt : NamespaceDump::numberOfInode(inode);
    }

    void write(const DumpOutputs& outputs) override {
        if (content_)
            content_->write(outputs, inputs().nsContext, inputs().stop);
        auto& names = outputs.extensions;
        if (content_ && besideCriu_ && std::find(names.begin(), names.end(), kNonRootNsExtension) == names.end())
            names.emplace_back(kNonRootNsExtension);
    }

private:
    static bool belongsToOthers(const SeenProcess& process) {
        return bool(kernel::foreignOwnerUserns(process.dir.open("ns/mnt", O_RDONLY).get()));
    }

    /// Throws Error if a restore couldn't create mount namespaces beside criu's.
    void requirePossible(const SeenTree& tree) const {
        const SeenProcess& apart =
            *std::find_if(tree.processes.begin(), tree.processes.end(),
                          [&](const SeenProcess& process) { return process.ids.of(kind()) != tree.criu.of(kind()); });
        if (inputs().options.compat)
            fail("{} is in a mount namespace that is made beside that of criu, and CRIU 4.2 can't restore that",
                 apart.describe());
        // The process that creates a mount namespace must return to criu's namespace afterwards. In a private user
        // namespace, it would lack the capabilities for this.
        if (inputs().nsContext.ids.isOwnNamespace())
            fail(
                "{} is in another mount namespace than the root of the tree, which is in that of criu, but in a user "
                "namespace of its own; that can't be dumped yet",
                apart.describe());
        FileArchives::load();
    }

    /// Assigns namespace ids to all mount namespaces of the tree except criu's.
    std::vector<SeenNamespace> number(const SeenTree& tree) {
        std::map<std::uint32_t, std::uint32_t> byInode;
        std::vector<SeenNamespace> seen;
        for (const SeenProcess& process : tree.processes) {
            const std::uint32_t inode = process.ids.of(kind()).value_or(0);
            if (process.ids.of(kind()) == tree.criu.of(kind())) {
                if (isOwn())
                    fail("{} is in the mount namespace of criu, but the root of the tree isn't", process.describe());
                continue;
            }
            auto found = byInode.find(inode);
            if (found == byInode.end()) {
                const std::uint32_t fresh = isOwn() && seen.empty() ? rootNumber() : inputs().numbers.addOther();
                found = byInode.emplace(inode, fresh).first;
                seen.push_back({fresh, &process.dir});
            }
            numbers_[process.pid] = found->second;
        }
        severalSeen_ = seen.size() > 1;
        return seen;
    }

    std::map<HostPid, std::uint32_t> numbers_;  ///< namespace ids; the key is the process
    bool severalSeen_ = false;
    bool besideCriu_ = false;
    std::optional<MountDump> content_;  ///< unset if all processes are in criu's namespace, or if mounts are copied
};

}  // namespace

std::unique_ptr<NamespaceDump> makeMountDump(const DumpInputs& inputs) {
    return std::make_unique<MountNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
