// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// PAGE_IS_… of <linux/fs.h> (Linux 6.7; the headers of Debian 12 lack them).
enum class PageIs : std::uint64_t {
    None = 0,
    WpAllowed = 1 << 0,  ///< page of an asynchronous userfaultfd write protection
    Written = 1 << 1,    ///< written since the last write protection
    File = 1 << 2,       ///< page of a file or shared memory, not a private copy
    Present = 1 << 3,
    Swapped = 1 << 4,
    PfnZero = 1 << 5,  ///< the kernel's zero page
    Huge = 1 << 6,     ///< mapped as a huge page
    SoftDirty = 1 << 7,
    Guard = 1 << 8,  ///< MADV_GUARD_INSTALL (6.15)
};
constexpr PageIs operator|(PageIs one, PageIs other) noexcept {
    return static_cast<PageIs>(static_cast<std::uint64_t>(one) | static_cast<std::uint64_t>(other));
}
constexpr PageIs operator&(PageIs one, PageIs other) noexcept {
    return static_cast<PageIs>(static_cast<std::uint64_t>(one) & static_cast<std::uint64_t>(other));
}
constexpr PageIs operator~(PageIs one) noexcept {
    return static_cast<PageIs>(~static_cast<std::uint64_t>(one));
}
constexpr bool any(PageIs categories) noexcept {
    return categories != PageIs::None;
}

/// Run of pages with equal reported categories. The layout is the kernel's struct page_region.
struct PageRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    PageIs categories = PageIs::None;
    friend bool operator==(const PageRange&, const PageRange&) = default;
};

/// Selection of pages that have all of `all`, none of `none`, and one of `any` unless `any` is None. Runs are split
/// where categories of `report` change, so `report` should contain only used categories.
struct PageQuery {
    PageIs all = PageIs::None;
    PageIs none = PageIs::None;
    PageIs any = PageIs::None;
    PageIs report = PageIs::None;
    /// Write-protects the found pages atomically. Needs PAGEMAP_SCAN and memory registered with userfaultfd.
    bool writeProtect = false;
    /// Maximal pages per visited run (PAGEMAP_SCAN only), so that work can start before the scan ends. 0: whole runs.
    std::uint64_t portion = 0;
};

/// Pages with private content: present or swapped, but no file pages, zero pages or guard regions. Also right for
/// huge pages.
inline constexpr PageQuery kPrivatePages{.none = PageIs::File | PageIs::PfnZero | PageIs::Guard,
                                         .any = PageIs::Present | PageIs::Swapped};

/// Selection for a mapping that isAnonymous(), which has no file pages. Without the File category the kernel reads no
/// struct page: 1.5 ms instead of 11 ms for 131,072 pages (pagemap_page_category() in fs/proc/task_mmu.c).
inline constexpr PageQuery kAnonymousPages{.none = PageIs::PfnZero | PageIs::Guard, .any = kPrivatePages.any};

/// Pages of shared memory that this process has mapped. Other pages of the segment may have content too: other
/// processes wrote them, or they were swapped out, which leaves page tables empty. lseek(SEEK_DATA) on the file finds
/// those.
inline constexpr PageQuery kSharedPages{.none = PageIs::Guard, .any = PageIs::Present | PageIs::Swapped};

inline constexpr PageQuery kGuardPages{.all = PageIs::Guard};

/// Finds pages by the categories of /proc/PID/pagemap. Several threads may call const functions at once.
class PagemapScanner {
public:
    enum class Mode : std::uint8_t {
        Auto,     ///< Scan if the kernel has PAGEMAP_SCAN, else Entries
        Scan,     ///< ioctl(PAGEMAP_SCAN): skips unmapped page tables, terabytes in microseconds
        Entries,  ///< reads 8 bytes per page: slow on large sparse ranges; callers should skip ranges that smaps
                  ///< shows as untouched
    };

    /// Throws Error in Mode::Scan if the kernel lacks PAGEMAP_SCAN.
    explicit PagemapScanner(UniqueFd pagemap, Mode mode = Mode::Auto);
    explicit PagemapScanner(const ProcPid& process, Mode mode = Mode::Auto);

    /// Returns Scan or Entries.
    [[nodiscard]] Mode mode() const noexcept { return mode_; }
    /// Returns true if the kernel reports guard pages. Linux 6.13 and 6.14 have guard pages but report them as
    /// swapped; reading these fails with EFAULT.
    [[nodiscard]] bool seesGuards() const noexcept { return guards_; }
    /// Returns true if zero pages are recognized; Entries needs CAP_SYS_ADMIN for this.
    [[nodiscard]] bool seesZeroPage() const noexcept { return mode_ == Mode::Scan || zeroPfn_.has_value(); }

    using Visitor = std::function<void(const PageRange&)>;

    /// Calls `visit` with each run inside [start, end), ascending. Adjacent runs differ in reported categories. Both
    /// addresses are page-aligned. Entries can't report WpAllowed or Huge.
    void scan(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;
    [[nodiscard]] std::vector<PageRange> scan(std::uint64_t start, std::uint64_t end, const PageQuery& query) const;

    /// Scans as scan() does, with several threads for the page tables of a large range. Calls `visit` in the calling
    /// thread after all threads have ended. For scans of frozen processes: one thread takes 40 ms for four million
    /// small pages.
    void scanAtOnce(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;

private:
    void scanByIoctl(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;
    void scanEntries(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;

    UniqueFd pagemap_;
    Mode mode_;
    bool guards_ = false;
    std::optional<std::uint64_t> zeroPfn_;
};

/// Returns the categories of an entry of the pagemap file (Documentation/admin-guide/mm/pagemap.rst).
[[nodiscard]] PageIs categoriesOfEntry(std::uint64_t entry, std::optional<std::uint64_t> zeroPfn) noexcept;

}  // namespace criu::kernel
