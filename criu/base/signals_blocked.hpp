// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <pthread.h>
#include <signal.h>

namespace criu {

/// While it lives, the calling thread takes no signals. New threads have the mask of their maker: signals are for the
/// main thread, which knows how to undo things.
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
