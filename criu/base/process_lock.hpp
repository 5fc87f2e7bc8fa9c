// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/mapping.hpp"

namespace criu {

/// Lock between processes that inherited it by fork. While a process holds it, no other process sees its temporary
/// changes.
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
