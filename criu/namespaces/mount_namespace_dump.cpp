// SPDX-License-Identifier: GPL-2.0-only
#include <map>
#include <optional>
#include <vector>

#include "criu/kernel/mount_calls.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/namespaces/copied_mounts_dump.hpp"
#include "criu/namespaces/mount_dump.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

/// Processes may be in other mount namespaces than the root, if that isn't in criu's.
class MountNamespaceDump final : public NamespaceDump {
public:
    explicit MountNamespaceDump(const DumpInputs& with) : NamespaceDump(kernel::NamespaceKind::Mount, with) {
        if (!isOwn()) {
            requireOne();
            if (with.tree.copiedMounts)
                with.surroundings.root = rootOfCopiedMounts(with.tree.root().dir, with.log);
            return;
        }
        with.log.stage("mounts");
        if (!kernel::canRestoreMountNamespaces())
            with.log.warn("This kernel can't restore the mount namespace of the tree: that needs {} or newer",
                          kernel::kMountNamespacesSince);
        content_.emplace(with.options, number(with.tree), with.log, with.takeMount);
        if (!with.tree.nested.empty())
            content_->noteProcsOf([this](std::uint32_t inode) { return firstOfNested(inode); });
        with.surroundings.root = content_->treeRoot();
    }

    [[nodiscard]] std::uint32_t numberOf(HostPid process) const override {
        const auto found = numbers_.find(process);
        return found == numbers_.end() ? rootNumber() : found->second;
    }

    /// A restored process opens its own namespace only, and isn't always the one that had the descriptor.
    [[nodiscard]] std::optional<std::uint32_t> numberOfInode(std::uint32_t inode) const override {
        return severalSeen_ ? std::nullopt : NamespaceDump::numberOfInode(inode);
    }

    void write(const DumpOutputs& outputs) override {
        if (content_)
            content_->write(outputs, inputs().surroundings.ids, inputs().stop);
    }

private:
    /// The first process of a pid namespace below that of the tree's root; zero: it is none.
    [[nodiscard]] TreePid firstOfNested(std::uint32_t inode) const {
        const model::PidSpace* const space = inputs().tree.nested.find(inode);
        return space == nullptr ? TreePid() : model::NestedPids::firstOf(*space);
    }

    std::vector<SeenNamespace> number(const SeenTree& tree) {
        std::map<std::uint32_t, std::uint32_t> byInode;
        std::vector<SeenNamespace> seen;
        for (const SeenProcess& process : tree.processes) {
            const std::uint32_t inode = process.ids.of(kind()).value_or(0);
            auto found = byInode.find(inode);
            if (found == byInode.end()) {
                const std::uint32_t fresh = seen.empty() ? rootNumber() : inputs().numbers.addOther();
                found = byInode.emplace(inode, fresh).first;
                seen.push_back({fresh, &process.dir});
            }
            numbers_[process.pid] = found->second;
        }
        severalSeen_ = seen.size() > 1;
        return seen;
    }

    std::map<HostPid, std::uint32_t> numbers_;  ///< by process
    bool severalSeen_ = false;
    std::optional<MountDump> content_;  ///< only of a namespace that isn't criu's
};

}  // namespace

std::unique_ptr<NamespaceDump> makeMountDump(const DumpInputs& inputs) {
    return std::make_unique<MountNamespaceDump>(inputs);
}

}  // namespace criu::namespaces
