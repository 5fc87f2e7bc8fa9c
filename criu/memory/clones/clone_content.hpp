// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <vector>

#include "criu/memory/pages/ranges.hpp"

namespace criu::kernel {
class PagemapScanner;
class ProcPid;
struct Vma;
}  // namespace criu::kernel

namespace criu::memory {

/// Returns the ranges of a clone's mapping (isOfClones()) that may contain other bytes than zeroes, in ascending order:
/// private pages, and content of the file. Page tables don't show file content that the clone never accessed. So waits
/// until the shared-pages daemon has read all content, or until `stopWanted` returns true. Returns the whole mapping if
/// criu can't examine the file.
[[nodiscard]] std::vector<Range> contentOfClone(const kernel::ProcPid& process, const kernel::PagemapScanner& scanner,
                                                const kernel::Vma& vma, const std::function<bool()>& stopWanted);

}  // namespace criu::memory
