// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/model/thread_plan.hpp"
#include "images/fs.fwd.hpp"

namespace criu::engine {

/// Directories of threads that don't share their directories with the leader (CLONE_FS). The object owns service
/// descriptors of these directories until the threads exist and enter them.
class ThreadDirectories {
public:
    /// Opens the directories. Call it before enterDirectories(), because that function changes the root in which the
    /// kernel looks up paths. Throws Error.
    ThreadDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files);

    /// Adds the steps that set directories and umask of the thread at `index`. The thread must execute them after
    /// unshare(CLONE_FS).
    void addSteps(std::size_t index, pie::StepList& steps, pie::RemoteData& data) const;

    /// Returns the maximum number of descriptors that any descriptor table of the tree needs for these directories.
    [[nodiscard]] static std::size_t descriptors(const model::ProcessTree& tree);

private:
    struct Own {
        const FsEntry* entry = nullptr;
        UniqueFd root;  ///< root directory; empty if the thread has the leader's root
        UniqueFd cwd;
    };

    const model::Task& task_;
    std::vector<model::ThreadObjects> objects_;
    std::map<std::uint32_t, Own> byNumber_;
};

/// Sets root directory, working directory and umask of the calling process. Call it when all files with paths of criu
/// are open, because the kernel then looks up paths in the new root.
void enterDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files);

}  // namespace criu::engine
