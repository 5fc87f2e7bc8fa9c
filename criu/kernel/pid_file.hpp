// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/base/ids.hpp"
#include "criu/kernel/created_name.hpp"

namespace criu::engine {

/// Pid file of this run. The destructor removes it unless commit() was called.
class PidFile {
public:
    /// Writes `pid` in decimal, without a newline, to a new file (mode 0600). Throws Error if the file exists or
    /// can't be written, and then leaves no file.
    PidFile(const std::string& path, HostPid pid);

    /// Keeps the file: the restore has succeeded.
    void commit() noexcept { name_.release(); }

private:
    kernel::CreatedName name_;
};

}  // namespace criu::engine
