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

/// Directories of threads with a private fs struct (CLONE_FS). The service descriptors stay open until the threads
/// exist and enter the directories.
class ThreadDirectories {
public:
    /// Opens the directories by paths in criu's mount namespace and root, so it must come before enterDirectories().
    /// Throws Error.
    ThreadDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files);

    /// Adds the steps that set directories and umask of the thread at `index`. They run after the thread has unshared
    /// its fs struct, and before that it has those of the leader.
    void addSteps(std::size_t index, pie::StepList& steps, pie::RemoteData& data) const;

    /// Returns the maximum number of descriptors that one table of the tree needs for this.
    [[nodiscard]] static std::size_t descriptors(const model::ProcessTree& tree);

private:
    struct Own {
        const FsEntry* entry = nullptr;
        UniqueFd root;  ///< empty if the root is the leader's
        UniqueFd cwd;
    };

    const model::Task& task_;
    std::vector<model::ThreadObjects> objects_;
    std::map<std::uint32_t, Own> byNumber_;
};

/// Sets root directory, working directory and umask of the calling process. Later paths are relative to the process'
/// root, so every file with a path of criu must have been opened.
void enterDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files);

}  // namespace criu::engine
