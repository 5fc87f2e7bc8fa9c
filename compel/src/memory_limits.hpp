// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace compel {

/// Names the limit that keeps a process from mapping `size` bytes more, and how to raise it, after mmap(2) has failed
/// with `code`. `isData`: the memory is private and writable. Empty if /proc shows no such limit.
std::string limitOfMemory(pid_t tid, std::uint64_t size, bool isData, int code);

}  // namespace compel
