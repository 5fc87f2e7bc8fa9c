// SPDX-License-Identifier: GPL-2.0-only
#include <set>

#include "criu/base/error.hpp"
#include "criu/engine/dump/tasks/nested_pids.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/ns_ids.hpp"
#include "images/core.hpp"
#include "images/pidns.hpp"

namespace criu::engine {
namespace {

using model::NestedPids;

/// Reads the images of the nested pid namespaces, each after its parent namespace.
class NestedReader {
public:
    NestedReader(const ImageDir& images, const model::ProcessTree& tree, std::uint32_t ofRoot)
        : images_(images), tree_(tree), ofRoot_(ofRoot) {}

    NestedPids run() {
        for (const auto& task : tree_.tasks)
            if (const auto number = spaceOf(*task); number && *number != ofRoot_)
                load(*number);
        for (const auto& task : tree_.tasks)
            require(*task);
        return std::move(nested_);
    }

private:
    static std::optional<std::uint32_t> spaceOf(const model::Task& task) {
        return task.ids ? namespaces::numberOf(**task.ids, kernel::NamespaceKind::Pid) : std::nullopt;
    }

    const NestedPids::Space* load(std::uint32_t number) {
        if (number == ofRoot_)
            return nullptr;
        if (const NestedPids::Space* const known = nested_.find(number))
            return known;
        const std::string name = imageName(ImageKind::Pidns, number);
        constexpr std::size_t kDeepest = 32;  // MAX_PID_NS_LEVEL
        if (!loading_.insert(number).second || loading_.size() > kDeepest)
            fail("{}: pid namespaces are below each other more than {} levels deep", name, kDeepest);
        const auto entry = images_.openRequired(ImageKind::Pidns, number).only<PidnsEntry>();
        if (entry->has_parent == 0)
            fail("{} doesn't say which pid namespace is above", name);
        NestedPids::Space& space = nested_.add(number, load(entry->parent));
        std::set<std::uint32_t> taken;
        for (std::size_t i = 0; i < entry->n_numbers; ++i) {
            const PidNumberEntry& one = *entry->numbers[i];
            const TreePid who(static_cast<pid_t>(one.tree_pid));
            if (who <= TreePid() || static_cast<pid_t>(one.pid) <= 0 || !taken.insert(one.pid).second)
                fail("{}: {} can't be called {}", name, one.tree_pid, one.pid);
            if (space.parent != nullptr && NestedPids::numberIn(space.parent, who) == 0)
                fail("{}: {} isn't seen by the namespace above", name, who);
            nested_.note(space, who, static_cast<pid_t>(one.pid));
        }
        loading_.erase(number);
        return &space;
    }

    void require(const model::Task& task) const {
        const NestedPids::Space* const space = nested_.of(task.pid);
        const auto number = spaceOf(task);
        if (number && (space == nullptr ? ofRoot_ : space->id) != *number)
            fail("process {} is in pid namespace {}, which has no number for it", task.pid, *number);
        for (const model::Thread& thread : task.threads)
            if (nested_.of(thread.tid) != space)
                fail("thread {} isn't in the pid namespace of its process, {}", thread.tid, task.pid);
    }

    const ImageDir& images_;
    const model::ProcessTree& tree_;
    std::uint32_t ofRoot_;
    NestedPids nested_;
    std::set<std::uint32_t> loading_;
};

}  // namespace

NestedPids readNestedPids(const ImageDir& images, const model::ProcessTree& tree) {
    const auto& ids = tree.root().ids;
    const auto ofRoot = ids ? namespaces::numberOf(**ids, kernel::NamespaceKind::Pid) : std::nullopt;
    return ofRoot ? NestedReader(images, tree, *ofRoot).run() : NestedPids();
}

}  // namespace criu::engine
