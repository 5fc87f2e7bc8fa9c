// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include <compel/blob.hpp>

namespace criu::pie {

/// The interpreter as code that can be put anywhere.
const compel::Blob& interpreterBlob() noexcept;

/// Unregisters the calling thread's area of restartable sequences, which libc has registered: the kernel writes to it
/// whenever it preempts the thread, and kills it if the area is gone. Throws Error.
void dropRseq();

/// Leaves this program for good: goes on at `entry` (the blob's start, in this process) with `program` as its argument
/// and `stackTop` as its stack.
[[noreturn]] void enter(std::uint64_t entry, std::uint64_t program, std::uint64_t stackTop) noexcept;

}  // namespace criu::pie
