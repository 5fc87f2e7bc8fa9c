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

/// The parts of a mapping of clones (isOfClones()) that may have other content than zeroes, ascending: pages of the
/// process' own, and what the file has. Page tables don't show the latter as long as nobody has touched it. Waits until
/// the keeper has put all content there, unless `stopWanted`. All of the mapping if the file can't be looked at.
[[nodiscard]] std::vector<Range> contentOfClone(const kernel::ProcPid& process, const kernel::PagemapScanner& scanner,
                                                const kernel::Vma& vma, const std::function<bool()>& stopWanted);

}  // namespace criu::memory
