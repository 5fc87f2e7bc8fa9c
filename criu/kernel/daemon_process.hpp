// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace criu::engine {

/// Runs `keep`, which must not return, in a new orphan process with copies of all the caller's resources. A child of
/// criu would make criu's parent wait. `name`: name of the daemon, for messages. Throws Error if the process can't be
/// created.
void createDaemon(std::string_view name, const std::function<void()>& keep);

/// Redirects the standard streams of this process to /dev/null, except the spared descriptors. Throws Error.
void closeStandardStreams(const std::vector<int>& spared = {});

/// Detaches a new process that outlives the command: it gets a new session, the root directory, default signal state
/// and the highest file limit. Leaves descriptors unchanged. Throws Error.
void detachFromCommand();

}  // namespace criu::engine
