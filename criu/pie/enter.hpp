// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include <compel/blob.hpp>

struct clone_args;

namespace criu::pie {

/// Returns the blob with the interpreter.
const compel::Blob& interpreterBlob() noexcept;

/// Unregisters the rseq area that libc registered for the calling thread. The kernel writes to this area after each
/// preemption, and kills the thread if the area is unmapped. Throws Error.
void dropRseq();

/// Jumps to `entry`, the entry of a blob in this process, and never returns. `program`: address that the blob gets as
/// its argument. `stackTop`: end of the blob's stack.
[[noreturn]] void enter(std::uint64_t entry, std::uint64_t program, std::uint64_t stackTop) noexcept;

/// Makes a system call without libc, which needs thread-local storage for errno. Returns the kernel's result: a
/// negative errno value after an error.
std::int64_t rawCall(std::int64_t number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
                     std::uint64_t d = 0) noexcept;

/// Creates a thread by clone3(2) that calls `entry(argument)` on the stack that `args` names. The thread shares the
/// caller's thread-local storage. Returns the tid, or a negative errno value.
std::int64_t startThread(const clone_args& args, void (*entry)(std::uint64_t), std::uint64_t argument) noexcept;

}  // namespace criu::pie
