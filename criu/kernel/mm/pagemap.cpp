// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/pagemap.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/thread_pool.hpp"

namespace criu::kernel {

namespace {

/// struct pm_scan_arg of <linux/fs.h>.
struct ScanArgument {
    std::uint64_t size;
    std::uint64_t flags;
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t walkEnd;
    std::uint64_t regions;
    std::uint64_t regionCount;
    std::uint64_t maxPages;
    std::uint64_t inverted;
    std::uint64_t all;
    std::uint64_t any;
    std::uint64_t report;
};
static_assert(sizeof(ScanArgument) == 96);
static_assert(sizeof(PageRange) == 24 && offsetof(PageRange, categories) == 16);

constexpr unsigned long kScanRequest = _IOWR('f', 16, ScanArgument);
constexpr std::uint64_t kWriteProtectMatching = 1 << 0;
constexpr std::uint64_t kCheckAsyncProtection = 1 << 1;

constexpr std::uint64_t bits(PageIs categories) noexcept {
    return static_cast<std::uint64_t>(categories);
}

bool kernelTakes(int pagemap, PageIs category) noexcept {
    ScanArgument argument{};
    argument.size = sizeof(argument);
    argument.all = bits(category);
    argument.report = bits(category);
    return ::ioctl(pagemap, kScanRequest, &argument) >= 0;
}

/// Returns the frame number of the zero page; nullopt if the kernel hides frame numbers.
std::optional<std::uint64_t> findZeroPage() {
    const UniqueFd own(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
    if (!own)
        return std::nullopt;
    const Mapping page = Mapping::anonymous(machinePageSize());
    // With MADV_NOHUGEPAGE, the read fault maps the zero page, and not the huge zero page.
    ::madvise(page.data(), page.size(), MADV_NOHUGEPAGE);
    static_cast<void>(*static_cast<volatile const char*>(page.as<char>()));
    std::uint64_t entry = 0;
    const auto offset =
        static_cast<off_t>(reinterpret_cast<std::uintptr_t>(page.data()) / machinePageSize() * sizeof(entry));
    if (::pread(own.get(), &entry, sizeof(entry), offset) != sizeof(entry))
        return std::nullopt;
    const std::uint64_t frame = entry & ((std::uint64_t{1} << 55) - 1);
    return frame == 0 ? std::nullopt : std::optional(frame);
}

/// Returns the argument of PAGEMAP_SCAN without the array of results. `known`: categories that the kernel knows.
ScanArgument argumentOf(std::uint64_t start, std::uint64_t end, const PageQuery& query, PageIs known) noexcept {
    ScanArgument argument{};
    argument.size = sizeof(argument);
    argument.flags = query.writeProtect ? kWriteProtectMatching | kCheckAsyncProtection : 0;
    argument.start = start;
    argument.end = end;
    argument.maxPages = query.portion;
    argument.inverted = bits(query.none & known);
    argument.all = bits((query.all | query.none) & known);
    argument.any = bits(query.any & known);
    argument.report = bits(query.report & known);
    return argument;
}

/// Adapter for a visitor: merges adjacent runs with equal categories before it calls the visitor.
class Joiner {
public:
    explicit Joiner(const PagemapScanner::Visitor& visit) noexcept : visit_(visit) {}

    void add(const PageRange& next) {
        if (run_.end == next.start && run_.categories == next.categories && run_.start != run_.end) {
            run_.end = next.end;
            return;
        }
        flush();
        run_ = next;
    }
    void flush() {
        if (run_.start != run_.end)
            visit_(run_);
        run_ = {};
    }

private:
    const PagemapScanner::Visitor& visit_;
    PageRange run_;
};

}  // namespace

PageIs categoriesOfEntry(std::uint64_t entry, std::optional<std::uint64_t> zeroPfn) noexcept {
    const auto bit = [entry](unsigned number) { return ((entry >> number) & 1) != 0; };
    PageIs categories = PageIs::None;
    if (bit(63)) {
        categories = categories | PageIs::Present;
        if (zeroPfn && (entry & ((std::uint64_t{1} << 55) - 1)) == *zeroPfn)
            categories = categories | PageIs::PfnZero;
    }
    if (bit(62))
        categories = categories | PageIs::Swapped;
    if (bit(61))
        categories = categories | PageIs::File;
    if (bit(58))
        categories = categories | PageIs::Guard;
    if (bit(55))
        categories = categories | PageIs::SoftDirty;
    if (!bit(57) && (bit(63) || bit(62)))
        categories = categories | PageIs::Written;
    return categories;
}

PagemapScanner::PagemapScanner(UniqueFd pagemap, Mode mode) : pagemap_(std::move(pagemap)), mode_(mode) {
    if (mode_ != Mode::Entries) {
        const bool available = kernelTakes(pagemap_.get(), PageIs::Present);
        if (!available && mode_ == Mode::Scan)
            failErrno("use PAGEMAP_SCAN");
        mode_ = available ? Mode::Scan : Mode::Entries;
    }
    // The category Guard and bit 58 of pagemap entries were both added in Linux 6.15. So one check is enough for both
    // modes.
    guards_ = kernelTakes(pagemap_.get(), PageIs::Guard);
    if (mode_ == Mode::Entries)
        zeroPfn_ = findZeroPage();
}

PagemapScanner::PagemapScanner(const ProcPid& process, Mode mode)
    : PagemapScanner(process.open("pagemap", O_RDONLY), mode) {}

void PagemapScanner::scan(std::uint64_t start, std::uint64_t end, const PageQuery& query, const Visitor& visit) const {
    if (start % machinePageSize() != 0 || end % machinePageSize() != 0 || start > end)
        fail("pagemap range {:x}-{:x} isn't made of pages", start, end);
    if (start == end)
        return;
    const ErrorContext context([&] { return fmt::format("pages {:x}-{:x}", start, end); });
    if (mode_ == Mode::Scan)
        scanByIoctl(start, end, query, visit);
    else
        scanEntries(start, end, query, visit);
}

std::vector<PageRange> PagemapScanner::scan(std::uint64_t start, std::uint64_t end, const PageQuery& query) const {
    std::vector<PageRange> ranges;
    scan(start, end, query, [&ranges](const PageRange& range) { ranges.push_back(range); });
    return ranges;
}

void PagemapScanner::scanAtOnce(std::uint64_t start, std::uint64_t end, const PageQuery& query,
                                const Visitor& visit) const {
    // Minimum size of a part for one thread. One thread walks the page tables of 256 MiB in one or two milliseconds;
    // for less, starting a thread costs more than it saves.
    constexpr std::uint64_t leastPart = std::uint64_t{256} << 20;
    const unsigned cores = availableCores();
    if (cores == 1 || start >= end || end - start < 2 * leastPart)
        return scan(start, end, query, visit);
    // Small parts balance the load if some parts have few pages. The size of a part is limited from below, because a
    // mapping may reserve terabytes, which would give too many parts.
    const std::uint64_t part = std::max(leastPart, (end - start) / (8 * cores) / leastPart * leastPart);
    std::vector<std::vector<PageRange>> found((end - start + part - 1) / part);
    {
        ThreadPool pool(static_cast<unsigned>(std::min<std::size_t>(cores, found.size())));
        for (std::size_t number = 0; number < found.size(); ++number)
            pool.submit([&, number] {
                const std::uint64_t from = start + number * part;
                found[number] = scan(from, std::min(from + part, end), query);
            });
        pool.wait();
    }
    Joiner joiner(visit);
    for (const std::vector<PageRange>& ranges : found)
        for (const PageRange& range : ranges)
            joiner.add(range);
    joiner.flush();
}

std::optional<std::uint64_t> PagemapScanner::first(std::uint64_t start, std::uint64_t end,
                                                   const PageQuery& query) const {
    if (mode_ != Mode::Scan)
        fail("only PAGEMAP_SCAN finds the first page");
    PageRange region;
    ScanArgument argument = argumentOf(start, end, query, known());
    argument.regions = reinterpret_cast<std::uintptr_t>(&region);
    argument.regionCount = 1;
    argument.maxPages = 1;
    for (;;) {
        const int found = ::ioctl(pagemap_.get(), kScanRequest, &argument);
        if (found > 0)
            return region.start;
        if (found == 0)
            return std::nullopt;
        if (errno != EINTR)
            failErrno("PAGEMAP_SCAN at {:x}", start);
    }
}

void PagemapScanner::scanByIoctl(std::uint64_t start, std::uint64_t end, const PageQuery& query,
                                 const Visitor& visit) const {
    // Doesn't request the category Guard from a kernel that lacks it. There, no page has this category.
    if (any(query.all & ~known()))
        return;
    std::array<PageRange, 1024> regions;
    ScanArgument argument = argumentOf(start, end, query, known());
    argument.regions = reinterpret_cast<std::uintptr_t>(regions.data());
    argument.regionCount = regions.size();
    Joiner joiner(visit);
    std::uint64_t reached = start;
    while (argument.start < end) {
        const int found = ::ioctl(pagemap_.get(), kScanRequest, &argument);
        if (found < 0) {
            if (errno == EINTR)
                continue;
            failErrno("PAGEMAP_SCAN at {:x}", argument.start);
        }
        // Handles a region that is reported twice. If the result array is full, the kernel may return an end address
        // below the end of the last region, and then reports this region again (Linux 6.18).
        for (PageRange region : std::span(regions).first(static_cast<std::size_t>(found))) {
            region.start = std::max(region.start, reached);
            if (region.start >= region.end)
                continue;
            reached = region.end;
            joiner.add(region);
        }
        if (argument.walkEnd <= argument.start)
            fail("PAGEMAP_SCAN makes no progress at {:x}", argument.start);
        argument.start = argument.walkEnd;
        if (query.portion != 0)
            joiner.flush();
    }
    joiner.flush();
}

void PagemapScanner::scanEntries(std::uint64_t start, std::uint64_t end, const PageQuery& query,
                                 const Visitor& visit) const {
    if (query.writeProtect)
        failWith(ENOSYS, "write-protect pages without PAGEMAP_SCAN");
    std::array<std::uint64_t, 8192> entries;
    Joiner joiner(visit);
    std::uint64_t address = start;
    while (address < end) {
        const std::size_t count = std::min<std::uint64_t>(entries.size(), (end - address) / machinePageSize());
        const ssize_t got = ::pread(pagemap_.get(), entries.data(), count * sizeof(entries[0]),
                                    static_cast<off_t>(address / machinePageSize() * sizeof(entries[0])));
        if (got < 0 && errno == EINTR)
            continue;
        const auto read =
            static_cast<std::size_t>(sys(got, "read page map entries at {:x}", address)) / sizeof(entries[0]);
        if (read == 0)  // no entry follows: this is the end of the address space
            break;
        for (std::size_t at = 0; at < read; ++at, address += machinePageSize()) {
            const PageIs page = categoriesOfEntry(entries[at], zeroPfn_);
            if ((page & query.all) == query.all && !any(page & query.none) &&
                (!any(query.any) || any(page & query.any)))
                joiner.add({address, address + machinePageSize(), page & query.report});
        }
    }
    joiner.flush();
}

}  // namespace criu::kernel
