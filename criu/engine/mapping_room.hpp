// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <string>

#include "images/mm.fwd.hpp"

namespace criu {
class Log;
}

/// Checks the number of mappings against vm.max_map_count. While a restore builds a process, this process has both the
/// dumped mappings and those of criu. The checks come before the restore creates anything: above the limit, even memory
/// allocations of criu fail.
namespace criu::engine {

struct RestoreImages;

/// Checks a restore. Throws Error if a process of the images would have too many mappings together with those of criu.
void requireMappingRoom(const RestoreImages& content);

/// Checks a process of a dump. Throws Error if a restore on this machine would surely exceed the limit. If this depends
/// on the content of the memory, only warns. `allowed`: vm.max_map_count. `name`: name of the process for the warning.
void requireMappingRoom(const MmEntry& mm, std::size_t allowed, const std::string& name, Log& log);

}  // namespace criu::engine
