// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <pthread.h>
#include <signal.h>

namespace criu {

/// Blocks all signals of the calling thread during its lifetime. New threads inherit the mask, so only the main
/// thread takes signals, because only it can roll back.
class SignalsBlocked {
public:
    SignalsBlocked() noexcept {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before_);
    }
    ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

private:
    sigset_t before_{};
};

}  // namespace criu
