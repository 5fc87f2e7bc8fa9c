// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/staging.hpp"

#include <compel/remote_syscalls.hpp>

#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/signals_blocked.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/kernel/process_vm.hpp"

namespace criu::cuda {
namespace {

/// Less isn't worth it.
constexpr std::uint64_t kLeast = std::uint64_t{16} << 20;
/// A driver that hasn't made such a mapping by then makes none.
constexpr int kMostCalls = 300;

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr std::uint64_t kSmallPage = 4096;
/// What a thread takes on at once.
constexpr std::uint64_t kPortion = std::uint64_t{64} << 20;

/// How far pages of memory that asks for huge ones lie apart.
std::uint64_t pageDistance() {
    std::string setting;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), setting);
    return setting.empty() || setting.find("[never]") != std::string::npos ? kSmallPage : kHugePage;
}

/// Writes a zero where the process has written nothing yet, into each page.
void touch(HostPid pid, std::uint64_t start, std::uint64_t end, std::uint64_t distance) {
    std::vector<kernel::RemoteRange> pages;
    for (std::uint64_t at = start; at < end; at += distance)
        pages.push_back({at, 1});
    const std::vector<std::byte> zeroes(pages.size());
    (void)kernel::writeMemorySome(pid.value, pages, zeroes);
}

}  // namespace

void StagingWatch::enter(compel::Tracee& thread) {
    ++calls_;
    asked_ = 0;
    compel::Registers registers = thread.registers();
    if (!registers.isNative() || registers.syscallNumber() != SYS_mmap)
        return;
    constexpr std::uint64_t kStaged = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    constexpr std::uint64_t kOther = MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_HUGETLB | MAP_STACK | MAP_GROWSDOWN;
    const std::uint64_t size = registers.syscallArgument(1);
    const std::uint64_t flags = registers.syscallArgument(3);
    if (size < kLeast || (registers.syscallArgument(2) & PROT_WRITE) == 0 || (flags & (kStaged | kOther)) != kStaged)
        return;
    registers.setSyscallArgument(3, flags & ~std::uint64_t{MAP_POPULATE});
    thread.setRegisters(registers);
    asked_ = size;
}

bool StagingWatch::leave(compel::Tracee& thread) {
    if (asked_ == 0)
        return calls_ < kMostCalls;
    const std::int64_t start = thread.registers().syscallResult();
    if (compel::isSyscallError(start))
        return true;
    size_ = asked_;
    wantHugePages(thread, static_cast<std::uint64_t>(start));
    makePages(static_cast<std::uint64_t>(start));
    return false;
}

/// An attempt: where it fails pages are small ones, and the driver's thread goes on.
void StagingWatch::wantHugePages(compel::Tracee& thread, std::uint64_t start) const {
    try {
        const std::int64_t result = compel::insertCall(thread, SYS_madvise, {start, size_, MADV_HUGEPAGE});
        if (compel::isSyscallError(result))
            log_.debug("cuda: process {} gets no huge pages for contents: {}", pid_,
                       ::strerror(static_cast<int>(-result)));
    } catch (const compel::TraceeGone&) {
        throw;
    } catch (const compel::Error& error) {
        log_.warn("cuda: process {} gets no huge pages for contents: {}", pid_, error.what());
    }
}

/// An attempt as well: a page that isn't made now is made when the thread writes to it.
void StagingWatch::makePages(std::uint64_t start) const noexcept {
    try {
        const std::uint64_t distance = pageDistance();
        const std::uint64_t end = start + size_;
        // The first and the last piece lie in no huge page that is whole.
        const std::uint64_t first = std::min(end, (start + kHugePage - 1) / kHugePage * kHugePage);
        const std::uint64_t last = std::max(first, end / kHugePage * kHugePage);
        touch(pid_, start, first, kSmallPage);
        touch(pid_, last, end, kSmallPage);
        const SignalsBlocked handedDown;
        ThreadPool pool(availableCores());
        for (std::uint64_t at = first; at < last; at += kPortion)
            pool.submit([this, at, last, distance] { touch(pid_, at, std::min(at + kPortion, last), distance); });
        pool.wait();
    } catch (const std::exception&) {
        return;  // the driver's thread makes them itself
    }
}

}  // namespace criu::cuda
