// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/task_files.hpp"
#include "criu/model/process_tree.hpp"

namespace criu::engine {

/// Gives the calling process its root and working directory and its umask. From here on its paths are its own, so all
/// that is opened by a path of criu has been.
void enterDirectories(const model::Task& task, const RestoredFiles& plan, const ServiceFds& service, TaskFiles& files);

}  // namespace criu::engine
