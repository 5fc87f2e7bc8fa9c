// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "criu/kernel/fd_store.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/memory/pages/ranges.hpp"

namespace criu::memory {

/// File of an external memory provider with the content of one private mapping, from offset 0.
struct ProvidedFile {
    Range mapping;           ///< addresses of the mapping
    kernel::FdStore::Id id;  ///< descriptor of the file
};

/// Returns a source that reads the pages of provided mappings from their files, and all other pages as `images` does.
/// Holes of a file have no page. Opens each file once to find the holes, so the files must be complete.
/// - `files`: in ascending order of address, not overlapping.
/// - `store`: store of the descriptors. It must outlive the source.
/// Throws Error.
[[nodiscard]] std::unique_ptr<const PageSource> withProvided(std::unique_ptr<const PageSource> images,
                                                             const std::vector<ProvidedFile>& files,
                                                             const kernel::FdStore& store);

}  // namespace criu::memory
