// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>

#include <cstdint>
#include <optional>
#include <vector>

#include "criu/engine/restore/task/drop_privileges.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::kernel {
class ProcPid;
}

namespace criu::task {
class LabelRestore;
}

namespace criu::engine {

/// Compares what the kernel says of the rights of restored processes with what their images say: ids, groups,
/// capabilities, no_new_privs, seccomp filters and security labels of every thread. It asks /proc only, so it doesn't
/// matter what the processes themselves have said or done.
class RightsCheck {
public:
    /// Both must outlive this. Throws Error.
    RightsCheck(const model::IdMap& ids, const task::LabelRestore& labels);

    /// Throws Error naming the thread and the first difference. `seccomp`: null for a process without; `parent`: whose
    /// child it has to be; nothing for the root, which may be a child of others.
    void require(const compel::FrozenProcess& process, const PrivilegeDrop::Threads& threads, const model::Task& task,
                 const std::vector<task::SeccompPlan>* seccomp, std::optional<HostPid> parent) const;

private:
    /// What a process' threads are compared with.
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
    std::uint64_t capabilities_;  ///< all that this kernel has
};

}  // namespace criu::engine
