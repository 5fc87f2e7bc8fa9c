// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "images/mm.fwd.hpp"

namespace criu {
class Log;
}

/// Room for the mappings of a process below vm.max_map_count while a restore builds it. Allocations of any kind fail
/// beyond it, so a lack is told before anything is made.
namespace criu::engine {

struct RestoreImages;

/// For a restore. Throws Error if a process of the images has no room for its mappings beside those of criu.
void requireMappingRoom(const RestoreImages& content);

/// For a dump. Throws Error if a restore on this machine would have no room, and warns if that depends on the content
/// of the memory. `name`: process in the warning.
void requireMappingRoom(const MmEntry& mm, const std::string& name, Log& log);

}  // namespace criu::engine
