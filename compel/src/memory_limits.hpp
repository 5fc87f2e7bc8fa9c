// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace compel {

/// Returns a text that names the limit because of which mmap(2) of `size` bytes has failed with the errno `code`. The
/// text says how to raise the limit. Returns an empty text if /proc shows no such limit. `isData`: true for private
/// writable memory.
std::string limitOfMemory(pid_t tid, std::uint64_t size, bool isData, int code);

}  // namespace compel
