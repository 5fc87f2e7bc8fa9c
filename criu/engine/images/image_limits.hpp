// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Throws Error if the images contain more processes or descriptors than --max-processes and --max-files allow. Call it
/// before the restore creates anything, because a small image can ask for many objects of the kernel.
void requireCountsAllowed(const RestoreImages& content, const model::Options& options);

/// Throws Error if the private memory of the processes and `shared` bytes of shared memory together exceed
/// --max-memory. Counts pages of the images, also if they are compressed or come later (--lazy-pages).
void requireMemoryAllowed(const RestoreImages& content, std::uint64_t shared, const model::Options& options);

}  // namespace criu::engine
