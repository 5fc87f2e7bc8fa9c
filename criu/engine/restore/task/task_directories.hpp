// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {
class RestoredFiles;
struct ServiceFds;
class TaskFiles;
}  // namespace criu::engine

namespace criu::model {
struct Task;
}

namespace criu::engine {

/// Gives the calling process its root and working directory and its umask. From here on its paths are its own, so all
/// that is opened by a path of criu has been.
void enterDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files);

}  // namespace criu::engine
