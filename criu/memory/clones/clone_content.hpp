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

/// Returns the parts of a clone's mapping (isOfClones()) that may not be zero, ascending: private pages and file
/// content. Page tables don't show untouched file content.
/// Waits until the shared-pages daemon has read all content, unless `stopWanted`. Returns the whole mapping if the
/// file can't be examined.
[[nodiscard]] std::vector<Range> contentOfClone(const kernel::ProcPid& process, const kernel::PagemapScanner& scanner,
                                                const kernel::Vma& vma, const std::function<bool()>& stopWanted);

}  // namespace criu::memory
