// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/ptrace.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "compel/c/control.hpp"

using compel::c::fail;
using compel::c::failErrno;

namespace {

bool isWhole(pid_t pid, long bytes) {
    if (bytes >= 0 && bytes % static_cast<long>(sizeof(long)) == 0)
        return true;
    fail(pid, "memory is read and written by whole words only");
    return false;
}

}  // namespace

extern "C" {

int ptrace_peek_area(pid_t pid, void* into, void* address, long bytes) {
    if (!isWhole(pid, bytes))
        return -1;
    const int before = errno;
    for (long at = 0; at < bytes; at += sizeof(long)) {
        errno = 0;
        const long word = ptrace(PTRACE_PEEKDATA, pid, static_cast<char*>(address) + at, nullptr);
        if (word == -1 && errno != 0) {
            const int code = errno;
            failErrno(pid, "read its memory");
            return -code;
        }
        memcpy(static_cast<char*>(into) + at, &word, sizeof(word));
    }
    errno = before;
    return 0;
}

int ptrace_poke_area(pid_t pid, void* from, void* address, long bytes) {
    if (!isWhole(pid, bytes))
        return -1;
    for (long at = 0; at < bytes; at += sizeof(long)) {
        long word;
        memcpy(&word, static_cast<char*>(from) + at, sizeof(word));
        if (ptrace(PTRACE_POKEDATA, pid, static_cast<char*>(address) + at, word) != 0) {
            const int code = errno;
            failErrno(pid, "write its memory");
            return -code;
        }
    }
    return 0;
}

int ptrace_swap_area(pid_t pid, void* address, void* ours, long bytes) {
    if (!isWhole(pid, bytes))
        return -1;
    void* const theirs = malloc(bytes == 0 ? 1 : static_cast<size_t>(bytes));
    if (theirs == nullptr)
        return -ENOMEM;
    int result = ptrace_peek_area(pid, theirs, address, bytes);
    if (result == 0) {
        result = ptrace_poke_area(pid, ours, address, bytes);
        if (result == 0)
            memcpy(ours, theirs, static_cast<size_t>(bytes));
        else if (ptrace_poke_area(pid, theirs, address, bytes) != 0)
            fail(pid, "its memory is left half written");
    }
    free(theirs);
    return result;
}

int ptrace_suspend_seccomp(pid_t pid) {
    const long options = PTRACE_O_SUSPEND_SECCOMP | PTRACE_O_TRACESYSGOOD;
    return ptrace(PTRACE_SETOPTIONS, pid, nullptr, options) == 0 ? 0 : failErrno(pid, "suspend its seccomp filters");
}
}
