// SPDX-License-Identifier: GPL-2.0-only
#include "criu/base/process_lock.hpp"

#include <pthread.h>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"

namespace criu {

ProcessLock::ProcessLock() : shared_(Mapping::anonymous(machinePageSize(), MAP_SHARED)) {
    pthread_mutexattr_t attributes;
    ::pthread_mutexattr_init(&attributes);
    ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    const int error = ::pthread_mutex_init(shared_.as<pthread_mutex_t>(), &attributes);
    ::pthread_mutexattr_destroy(&attributes);
    if (error != 0)
        failWith(error, "create a lock that processes share");
}

ProcessLock::Held::Held(const ProcessLock& lock) : lock_(lock) {
    if (const int error = ::pthread_mutex_lock(lock_.shared_.as<pthread_mutex_t>()); error != 0)
        failWith(error, "wait for other processes of the restore");
}

ProcessLock::Held::~Held() {
    ::pthread_mutex_unlock(lock_.shared_.as<pthread_mutex_t>());
}

}  // namespace criu
