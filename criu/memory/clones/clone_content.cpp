// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/clones/clone_content.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/mm/pagemap.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::memory {
namespace {

/// Waits until the shared-pages daemon has read all content and has sealed the file. Returns false if this doesn't
/// happen. If the daemon ends, its watchdog process kills the clones.
bool awaitContent(int file, const std::function<bool()>& stopWanted) {
    constexpr useconds_t kPause = 5'000;
    constexpr int kMost = 10 * 60 * 200;  // ten minutes
    for (int turn = 0; turn < kMost; ++turn) {
        const int seals = ::fcntl(file, F_GET_SEALS);
        if (seals < 0 || (seals & F_SEAL_SEAL) != 0)
            return seals >= 0;
        if (stopWanted())
            return false;
        ::usleep(kPause);
    }
    return false;
}

/// Adds the parts of a mapping for which the mapped file has content. Returns false if criu can't find out which parts
/// these are.
bool addFileContent(const kernel::ProcPid& process, const kernel::Vma& vma, const std::function<bool()>& stopWanted,
                    RangeSet& found) {
    const std::string name = fmt::format("map_files/{:x}-{:x}", vma.start, vma.end);
    const UniqueFd file(::openat(process.fd(), name.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || !awaitContent(file.get(), stopWanted))
        return false;
    const std::uint64_t end = vma.pgoff + vma.size();
    for (std::uint64_t at = vma.pgoff; at < end;) {
        const off_t data = ::lseek(file.get(), static_cast<off_t>(at), SEEK_DATA);
        if (data < 0)
            return errno == ENXIO;  // ENXIO: the file has no content after this offset
        const off_t hole = ::lseek(file.get(), data, SEEK_HOLE);
        if (hole <= data)
            return false;
        const std::uint64_t to = std::min<std::uint64_t>(static_cast<std::uint64_t>(hole), end);
        if (static_cast<std::uint64_t>(data) < to)
            found.add({static_cast<std::uint64_t>(data) - vma.pgoff + vma.start, to - vma.pgoff + vma.start});
        at = static_cast<std::uint64_t>(hole);
    }
    return true;
}

}  // namespace

std::vector<Range> contentOfClone(const kernel::ProcPid& process, const kernel::PagemapScanner& scanner,
                                  const kernel::Vma& vma, const std::function<bool()>& stopWanted) {
    RangeSet found;
    if (!addFileContent(process, vma, stopWanted, found))
        return {{vma.start, vma.end}};
    kernel::PageQuery query = kernel::kPrivatePages;
    query.none = query.none | kernel::PageIs::PfnZero;  // supplied for pages that the file lacks
    scanner.scan(vma.start, vma.end, query, [&found](const kernel::PageRange& own) {
        found.add({own.start, own.end});
    });
    return found.ranges();
}

}  // namespace criu::memory
