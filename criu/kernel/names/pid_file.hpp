// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/base/ids.hpp"
#include "criu/kernel/names/created_name.hpp"

namespace criu::engine {

/// Pid file of one criu command. The destructor removes the file unless commit() was called.
class PidFile {
public:
    /// Writes `pid` in decimal, without a newline, to a new file with mode 0600. Throws Error if the file exists or
    /// can't be written; then no new file remains.
    PidFile(const std::string& path, HostPid pid);

    /// Keeps the file. Call it when the restore has succeeded.
    void commit() noexcept { name_.release(); }

private:
    kernel::CreatedName name_;
};

}  // namespace criu::engine
