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

/// The POSIX locks that a process is to have: fcntl_locking(2). They live as long as the files.
[[nodiscard]] std::vector<const FileLockEntry*> posixLocksOf(const RestoredFiles& files, TreePid process);

/// Has a process of which `calls` makes system calls take its locks. Arguments are put into `room` in the process.
/// Throws Error.
void setPosixLocks(compel::RemoteSyscalls& calls, std::uint64_t room, const std::vector<const FileLockEntry*>& locks);

}  // namespace criu::engine
