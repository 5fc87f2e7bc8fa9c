// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace criu::engine {

/// Runs `keep`, which must not return, in a new orphan process with copies of all resources of the caller. The process
/// is an orphan, so that init reaps it; criu's parent needn't wait for it. `name` is the name of the daemon in
/// messages. Throws Error if the process can't be created.
void createDaemon(std::string_view name, const std::function<void()>& keep);

/// Redirects the standard streams of this process to /dev/null, except the descriptors `spared`. Throws Error.
void closeStandardStreams(const std::vector<int>& spared = {});

/// Prepares a new process for a life after the command. Sets a new session, "/" as current directory, an empty signal
/// mask and the highest limit of open files. Gives the usual end signals their default action, and ignores SIGPIPE.
/// Throws Error.
void detachFromCommand();

}  // namespace criu::engine
