// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include <compel/blob.hpp>

namespace criu::pie {

/// Returns the interpreter as position-independent code.
const compel::Blob& interpreterBlob() noexcept;

/// Unregisters the rseq area that libc registered for the calling thread. The kernel writes to this area after each
/// preemption, and kills the thread if the area is unmapped. Throws Error.
void dropRseq();

/// Leaves this program and continues at `entry`, the start of the blob in this process. The blob gets `program` as
/// its argument and `stackTop` as its stack.
[[noreturn]] void enter(std::uint64_t entry, std::uint64_t program, std::uint64_t stackTop) noexcept;

}  // namespace criu::pie
