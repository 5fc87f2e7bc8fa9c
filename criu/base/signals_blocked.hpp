// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <pthread.h>
#include <signal.h>

namespace criu {

/// Scope in which all signals of the calling thread are blocked. New threads inherit the mask, so that only the main
/// thread handles signals: only the main thread can roll back.
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
