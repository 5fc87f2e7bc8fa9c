// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/mapping.hpp"

namespace criu {

/// Lets one process at a time do something, of those that inherited the lock by fork: what one changes for a moment
/// another one mustn't see.
class ProcessLock {
public:
    ProcessLock();

    class Held {
    public:
        explicit Held(const ProcessLock& lock);
        ~Held();
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;

    private:
        const ProcessLock& lock_;
    };

private:
    Mapping shared_;
};

}  // namespace criu
