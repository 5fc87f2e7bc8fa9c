// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

#include "criu/base/ids.hpp"
#include "images/file-lock.fwd.hpp"

namespace compel {
class RemoteSyscalls;
}

namespace criu::engine {

class RestoredFiles;

/// Returns the POSIX locks (fcntl_locking(2)) of a process in the images. They are valid as long as `files`.
[[nodiscard]] std::vector<const FileLockEntry*> posixLocksOf(const RestoredFiles& files, TreePid process);

/// Lets the process of `calls` take its locks. Writes arguments to `room` in the process. Throws Error.
void setPosixLocks(compel::RemoteSyscalls& calls, std::uint64_t room, const std::vector<const FileLockEntry*>& locks);

}  // namespace criu::engine
