// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// Page categories: PAGE_IS_… of <linux/fs.h> (Linux 6.7; the headers of Debian 12 lack them).
enum class PageIs : std::uint64_t {
    None = 0,
    WpAllowed = 1 << 0,  ///< page of memory with asynchronous userfaultfd write protection
    Written = 1 << 1,    ///< page that was written since it was last write-protected
    File = 1 << 2,       ///< page of a file or shared memory, not a private copy of such a page
    Present = 1 << 3,
    Swapped = 1 << 4,
    PfnZero = 1 << 5,  ///< zero page of the kernel
    Huge = 1 << 6,     ///< page that is mapped as a part of a huge page
    SoftDirty = 1 << 7,
    Guard = 1 << 8,  ///< guard region (MADV_GUARD_INSTALL; reported since Linux 6.15)
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

/// Run of pages whose reported categories are equal. The layout is that of the kernel's struct page_region.
struct PageRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    PageIs categories = PageIs::None;
    friend bool operator==(const PageRange&, const PageRange&) = default;
};

/// Selection of pages. A page matches if it has all categories of `all`, none of `none`, and at least one of `any` (if
/// `any` isn't None). A run ends where the categories of `report` change. So `report` should contain only categories
/// that the caller uses.
struct PageQuery {
    PageIs all = PageIs::None;
    PageIs none = PageIs::None;
    PageIs any = PageIs::None;
    PageIs report = PageIs::None;
    /// If true, also write-protects the matching pages, in the same call. Needs PAGEMAP_SCAN and memory registered with
    /// userfaultfd.
    bool writeProtect = false;
    /// Maximum number of pages per visited run; 0 means no limit. With a limit, the caller can begin its work before
    /// the scan ends. Mode::Entries ignores it.
    std::uint64_t portion = 0;
};

/// Selection of pages with private content: present or swapped, but no file pages or guard regions. Also correct for
/// huge pages. Includes the kernel's zero page, because in a private mapping of a file this page hides content of the
/// file (UFFDIO_ZEROPAGE, KSM).
inline constexpr PageQuery kPrivatePages{.none = PageIs::File | PageIs::Guard,
                                         .any = PageIs::Present | PageIs::Swapped};

/// Selection of pages with content in an anonymous mapping (isAnonymous()), where the zero page is no content. Doesn't
/// exclude the category File, because such a mapping has no file pages. Without this category, the kernel reads no
/// struct page: 1.5 ms instead of 11 ms for 131,072 pages (pagemap_page_category() in fs/proc/task_mmu.c).
inline constexpr PageQuery kAnonymousPages{.none = PageIs::PfnZero | PageIs::Guard, .any = kPrivatePages.any};

/// Selection of the pages of shared memory that this process has in its page tables. The segment may contain more
/// pages: other processes have written them, or the kernel has swapped them out and cleared their page table entries.
/// lseek(SEEK_DATA) on the file finds these pages.
inline constexpr PageQuery kSharedPages{.none = PageIs::Guard, .any = PageIs::Present | PageIs::Swapped};

inline constexpr PageQuery kGuardPages{.all = PageIs::Guard};

/// Finder of pages by the categories of /proc/PID/pagemap. Several threads may call const functions at once.
class PagemapScanner {
public:
    enum class Mode : std::uint8_t {
        Auto,  ///< Scan if the kernel has PAGEMAP_SCAN; Entries if it lacks PAGEMAP_SCAN
        Scan,  ///< uses ioctl(PAGEMAP_SCAN), which skips unmapped page tables: terabytes in microseconds
        /// Reads 8 bytes for each page. This is slow on large sparse ranges, so callers should skip ranges without
        /// pages in smaps.
        Entries,
    };

    /// Chooses the mode. Throws Error for Mode::Scan if the kernel lacks PAGEMAP_SCAN.
    explicit PagemapScanner(UniqueFd pagemap, Mode mode = Mode::Auto);
    explicit PagemapScanner(const ProcPid& process, Mode mode = Mode::Auto);

    /// Returns the mode in use: Scan or Entries, never Auto.
    [[nodiscard]] Mode mode() const noexcept { return mode_; }
    /// Returns true if the kernel reports guard pages. Linux 6.13 and 6.14 have guard pages, but report them as
    /// swapped. Reading such a page fails with EFAULT.
    [[nodiscard]] bool seesGuards() const noexcept { return guards_; }
    /// Returns true if the scanner recognizes zero pages. Mode::Entries needs CAP_SYS_ADMIN for this.
    [[nodiscard]] bool seesZeroPage() const noexcept { return mode_ == Mode::Scan || zeroPfn_.has_value(); }

    using Visitor = std::function<void(const PageRange&)>;

    /// Calls `visit` with each run inside [start, end), in ascending order. The reported categories of adjacent runs
    /// differ. Both addresses must be page-aligned. Mode::Entries can't report WpAllowed or Huge.
    void scan(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;
    [[nodiscard]] std::vector<PageRange> scan(std::uint64_t start, std::uint64_t end, const PageQuery& query) const;

    /// Returns the address of the first matching page; nullopt if there is none. For Mode::Scan only.
    [[nodiscard]] std::optional<std::uint64_t> first(std::uint64_t start, std::uint64_t end,
                                                     const PageQuery& query) const;

    /// Does the same as scan(), but several threads read the page tables of a large range. Calls `visit` in the calling
    /// thread after all threads have ended. For frozen processes, because one thread takes 40 ms for four million small
    /// pages.
    void scanAtOnce(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;

private:
    [[nodiscard]] PageIs known() const noexcept { return guards_ ? ~PageIs::None : ~PageIs::Guard; }
    void scanByIoctl(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;
    void scanEntries(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;

    UniqueFd pagemap_;
    Mode mode_;
    bool guards_ = false;
    std::optional<std::uint64_t> zeroPfn_;
};

/// Returns the categories of one entry of the pagemap file (Documentation/admin-guide/mm/pagemap.rst). `zeroPfn` is the
/// frame number of the zero page; nullopt if unknown.
[[nodiscard]] PageIs categoriesOfEntry(std::uint64_t entry, std::optional<std::uint64_t> zeroPfn) noexcept;

}  // namespace criu::kernel
