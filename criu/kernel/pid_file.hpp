// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/base/ids.hpp"
#include "criu/kernel/created_name.hpp"

namespace criu::engine {

/// A pid file of this run; removed with the object unless commit() was called.
class PidFile {
public:
    /// Writes `pid` in decimal, without a newline, to a file made for it (mode 0600). Throws Error when the file exists
    /// already or can't be written; then no file of ours is left.
    PidFile(const std::string& path, HostPid pid);

    /// The restore has come through: the file stays.
    void commit() noexcept { name_.release(); }

private:
    kernel::CreatedName name_;
};

}  // namespace criu::engine
