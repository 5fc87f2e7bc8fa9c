// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/model/thread_plan.hpp"
#include "images/fs.fwd.hpp"

namespace criu::engine {
class RestoredFiles;
struct ServiceFds;
class TaskFiles;
}  // namespace criu::engine

namespace criu::model {
struct ProcessTree;
struct Task;
}  // namespace criu::model

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu::engine {

/// The directories of threads that have their own, held open in the range of service descriptors until these threads
/// exist and enter them.
class ThreadDirectories {
public:
    /// Opens them, by paths as criu sees them: to be called before enterDirectories(). Throws Error.
    ThreadDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files);

    /// Adds what the thread at `index` does when it has begun an fs of its own: it has the leader's directories and
    /// umask until then.
    void addSteps(std::size_t index, pie::StepList& steps, pie::RemoteData& data) const;

    /// How many descriptors a table of the tree has to hold for this at most.
    [[nodiscard]] static std::size_t descriptors(const model::ProcessTree& tree);

private:
    struct Own {
        const FsEntry* entry = nullptr;
        UniqueFd root;  ///< none: that of the leader
        UniqueFd cwd;
    };

    const model::Task& task_;
    std::vector<model::ThreadObjects> objects_;
    std::map<std::uint32_t, Own> byNumber_;
};

/// Gives the calling process its root and working directory and its umask. From here on its paths are its own, so all
/// that is opened by a path of criu has been.
void enterDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files);

}  // namespace criu::engine
