// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include <compel/blob.hpp>

struct clone_args;

namespace criu::pie {

/// Returns the interpreter as position-independent code.
const compel::Blob& interpreterBlob() noexcept;

/// Unregisters the rseq area that libc registered for the calling thread. The kernel writes to this area after each
/// preemption, and kills the thread if the area is unmapped. Throws Error.
void dropRseq();

/// Leaves this program and continues at `entry`, the start of the blob in this process. The blob gets `program` as
/// its argument and `stackTop` as its stack.
[[noreturn]] void enter(std::uint64_t entry, std::uint64_t program, std::uint64_t stackTop) noexcept;

/// A system call without libc, which keeps errno and more in the storage of a thread; its raw result.
std::int64_t rawCall(std::int64_t number, std::uint64_t a = 0, std::uint64_t b = 0, std::uint64_t c = 0,
                     std::uint64_t d = 0) noexcept;

/// clone3(2) of a thread that runs `entry` with an argument on the stack of `args`, and has the thread-local storage of
/// the caller. Returns its number, or a negative errno value.
std::int64_t startThread(const clone_args& args, void (*entry)(std::uint64_t), std::uint64_t argument) noexcept;

}  // namespace criu::pie
