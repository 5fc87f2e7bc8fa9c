// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// PAGE_IS_… of <linux/fs.h> (6.7; headers of Debian 12 lack them).
enum class PageIs : std::uint64_t {
    None = 0,
    WpAllowed = 1 << 0,  ///< in a userfaultfd write-protect area with asynchronous faults
    Written = 1 << 1,    ///< written to since the last write protection
    File = 1 << 2,       ///< of a file or shared memory, not the process's own copy
    Present = 1 << 3,
    Swapped = 1 << 4,
    PfnZero = 1 << 5,  ///< the kernel's one page of zeroes
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

/// A run of pages of equal (reported) categories; the layout is the kernel's struct page_region.
struct PageRange {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    PageIs categories = PageIs::None;
    friend bool operator==(const PageRange&, const PageRange&) = default;
};

/// Which pages are wanted: all of `all`, none of `none`, and at least one of `any` (unless that is None). Runs are
/// split where categories of `report` change: ask for no more than is used.
struct PageQuery {
    PageIs all = PageIs::None;
    PageIs none = PageIs::None;
    PageIs any = PageIs::None;
    PageIs report = PageIs::None;
    /// Write-protect what is found, atomically (PAGEMAP_SCAN only, memory registered with userfaultfd).
    bool writeProtect = false;
    /// Report at the latest after so many pages were found, even if a run goes on behind: for work to start while the
    /// rest is looked at (PAGEMAP_SCAN only). 0: whole runs.
    std::uint64_t portion = 0;
};

/// Pages of a private mapping with content of their own: present or swapped out, not the file's, not the zero page, no
/// guard. Holds for huge pages too.
inline constexpr PageQuery kPrivatePages{.none = PageIs::File | PageIs::PfnZero | PageIs::Guard,
                                         .any = PageIs::Present | PageIs::Swapped};

/// The same of a mapping that isAnonymous(): no page of it is a file's. To leave that question out spares the kernel a
/// look at what it keeps about each page, seven eighths of the walk (11 ms for 131,072 pages, 1.5 ms without;
/// pagemap_page_category() in fs/proc/task_mmu.c).
inline constexpr PageQuery kAnonymousPages{.none = PageIs::PfnZero | PageIs::Guard, .any = kPrivatePages.any};

/// Pages of shared memory this process has mapped. Others of the segment have content too (touched by other processes,
/// or swapped out, which leaves no trace in the page tables): a complete picture takes lseek(SEEK_DATA) on the file as
/// well.
inline constexpr PageQuery kSharedPages{.none = PageIs::Guard, .any = PageIs::Present | PageIs::Swapped};

inline constexpr PageQuery kGuardPages{.all = PageIs::Guard};

/// Finds pages by what /proc/PID/pagemap knows. Const calls may run at once on several threads.
class PagemapScanner {
public:
    enum class Mode : std::uint8_t {
        Auto,     ///< Scan if the kernel has it
        Scan,     ///< ioctl(PAGEMAP_SCAN): skips unmapped space at page-table speed, terabytes in microseconds
        Entries,  ///< 8 bytes read per page: slow on big sparse ranges (leave out those smaps shows as untouched)
    };

    /// Throws Error in Mode::Scan if the kernel hasn't got it.
    explicit PagemapScanner(UniqueFd pagemap, Mode mode = Mode::Auto);
    explicit PagemapScanner(const ProcPid& process, Mode mode = Mode::Auto);

    /// Scan or Entries.
    [[nodiscard]] Mode mode() const noexcept { return mode_; }
    /// Whether this kernel tells guard pages apart. Where it doesn't but has them (6.13, 6.14), they pass for swapped
    /// pages and reading them fails with EFAULT.
    [[nodiscard]] bool seesGuards() const noexcept { return guards_; }
    /// Whether zero pages are told apart: Entries needs CAP_SYS_ADMIN for that.
    [[nodiscard]] bool seesZeroPage() const noexcept { return mode_ == Mode::Scan || zeroPfn_.has_value(); }

    using Visitor = std::function<void(const PageRange&)>;

    /// Calls `visit` with each run inside [start, end), ascending; adjacent ones differ in reported categories. Both
    /// addresses are multiples of the page size. Entries mode can't report WpAllowed or Huge.
    void scan(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;
    [[nodiscard]] std::vector<PageRange> scan(std::uint64_t start, std::uint64_t end, const PageQuery& query) const;

    /// As scan(), with the page tables of a large range walked by several threads at once, which have ended when this
    /// returns. `visit` is called by the calling thread, when all is known. For what a stopped process waits for: the
    /// walk takes some 40 ms for four million small pages.
    void scanAtOnce(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;

private:
    void scanByIoctl(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;
    void scanEntries(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const;

    UniqueFd pagemap_;
    Mode mode_;
    bool guards_ = false;
    std::optional<std::uint64_t> zeroPfn_;
};

/// Categories an entry of the pagemap file stands for (Documentation/admin-guide/mm/pagemap.rst).
[[nodiscard]] PageIs categoriesOfEntry(std::uint64_t entry, std::optional<std::uint64_t> zeroPfn) noexcept;

}  // namespace criu::kernel
