// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/task/drop_privileges.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {

/// Rights check: compares the credentials of restored processes in /proc with the images. Checks ids, groups,
/// capabilities, no_new_privs, seccomp filters and labels of every thread. Reads only /proc, so no action of the
/// processes can falsify the result.
class RightsCheck {
public:
    /// Both arguments must outlive this object. Throws Error.
    RightsCheck(const model::IdMap& ids, const task::LabelRestore& labels);

    /// Throws Error with the thread and the first difference. `seccomp`: null for a process without filters. `parent`:
    /// expected parent; nothing for the root, because its parent may be outside of the tree.
    void require(const compel::FrozenProcess& process, const PrivilegeDrop::Threads& threads, const model::Task& task,
                 const std::vector<task::SeccompPlan>* seccomp, std::optional<HostPid> parent) const;

private:
    /// Expected state of a process' threads.
    struct Wanted {
        const kernel::ProcPid& directory;
        const PrivilegeDrop::Threads& threads;
        const model::Task& task;
        const std::vector<task::SeccompPlan>* seccomp;
        std::optional<HostPid> parent;
    };
    void requireThreads(const Wanted& wanted, std::size_t first, std::size_t end) const;

    const model::IdMap& ids_;
    const task::LabelRestore& labels_;
    std::uint64_t capabilities_;  ///< all capabilities of this kernel
};

}  // namespace criu::engine
