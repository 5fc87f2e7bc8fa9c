// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace compel {

/// Returns the limit that made mmap(2) of `size` bytes fail with `code`, and how to raise it. `isData`: the memory is
/// private and writable. Empty if /proc shows no such limit.
std::string limitOfMemory(pid_t tid, std::uint64_t size, bool isData, int code);

}  // namespace compel
