// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/compat.hpp"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <compel/process.hpp>

#include <cstring>

#include "criu/base/error.hpp"

namespace criu::task {

bool isCompat(compel::FrozenProcess& process, const kernel::ProcPid& dir) {
    const bool compat = !process.leader().registers().isNative();
    for (const compel::FrozenThread& thread : process.threads())
        if (thread.tracee.registers().isNative() == compat)
            fail("process {} has threads in 32-bit and in 64-bit code, which can't be dumped: {} and {}", process.pid(),
                 compat ? process.pid() : thread.tracee.tid(), compat ? thread.tracee.tid() : process.pid());
    if (!compat)
        return false;
    const UniqueFd program = dir.open("exe", O_RDONLY | O_CLOEXEC);
    unsigned char identity[EI_NIDENT] = {};
    if (::pread(program.get(), identity, sizeof(identity), 0) != sizeof(identity) ||
        std::memcmp(identity, ELFMAG, SELFMAG) != 0 || identity[EI_CLASS] != ELFCLASS32)
        fail("process {} runs 32-bit code, but its program isn't a 32-bit one (Wine does so), which can't be dumped",
             process.pid());
    return true;
}

}  // namespace criu::task
