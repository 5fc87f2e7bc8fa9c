// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/mapping.hpp"

namespace criu::sockets {

/// Lets one process at a time, of those that inherited it, change names in the file system: what one moves aside for a
/// moment another one mustn't miss.
class PathLock {
public:
    PathLock();

    class Held {
    public:
        explicit Held(const PathLock& lock);
        ~Held();
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;

    private:
        const PathLock& lock_;
    };

private:
    Mapping shared_;
};

}  // namespace criu::sockets
