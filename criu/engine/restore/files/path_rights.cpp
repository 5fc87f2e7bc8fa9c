// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/path_rights.hpp"

#include <linux/capability.h>

#include <algorithm>
#include <optional>

#include "images/core.hpp"
#include "images/creds.hpp"

namespace criu::engine {
namespace {

bool has(const CredsEntry& creds, unsigned capability) {
    return creds.n_cap_eff > 0 && (creds.cap_eff[0] >> capability & 1U) != 0;
}

std::optional<kernel::FileRights> rightsOf(const model::Task& task) {
    if (!task.alive() || task.core().thread_core == nullptr || task.core().thread_core->creds == nullptr)
        return std::nullopt;
    const CredsEntry& creds = *task.core().thread_core->creds;
    kernel::FileRights rights;
    rights.user = creds.fsuid;
    rights.group = creds.fsgid;
    rights.groups.assign(creds.groups, creds.groups + creds.n_groups);
    rights.users = {creds.uid, creds.euid, creds.suid};
    rights.ignoresModes = has(creds, CAP_DAC_OVERRIDE);
    rights.readsAll = has(creds, CAP_DAC_READ_SEARCH);
    return rights;
}

}  // namespace

PathRights::PathRights(const model::ProcessTree& tree) {
    for (const auto& task : tree.tasks) {
        const auto rights = rightsOf(*task);
        if (!rights || rights->areAll())
            continue;
        const auto known = std::find(limited_.begin(), limited_.end(), *rights);
        const auto index = static_cast<std::size_t>(known - limited_.begin());
        if (known == limited_.end())
            limited_.push_back(*rights);
        ofProcess_[task->pid] = index;
        if (task->files)
            for (const model::FdSlot& slot : task->files->slots)
                ofFile_[slot.file].insert(index);
    }
    if (limited_.empty())
        return;
    for (const auto& task : tree.tasks)
        if (task->files)
            for (const model::FdSlot& slot : task->files->slots)
                held_.insert(slot.file);
}

std::vector<kernel::FileRights> PathRights::of(std::span<const FileId> files) const {
    if (limited_.empty())
        return {};
    if (std::none_of(files.begin(), files.end(), [this](FileId id) { return held_.contains(id); }))
        return limited_;
    std::set<std::size_t> found;
    for (const FileId id : files)
        if (const auto users = ofFile_.find(id); users != ofFile_.end())
            found.insert(users->second.begin(), users->second.end());
    std::vector<kernel::FileRights> rights;
    for (const std::size_t index : found)
        rights.push_back(limited_[index]);
    return rights;
}

std::vector<kernel::FileRights> PathRights::of(TreePid process) const {
    const auto found = ofProcess_.find(process);
    return found == ofProcess_.end() ? std::vector<kernel::FileRights>{} : std::vector{limited_[found->second]};
}

}  // namespace criu::engine
