// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/staging.hpp"

#include <compel/remote_syscalls.hpp>

#include <linux/mempolicy.h>
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
#include "criu/kernel/mm/process_vm.hpp"

namespace criu::cuda {
namespace {

/// Minimum size in bytes of a staging mapping that StagingMonitor prepares.
constexpr std::uint64_t kLeast = std::uint64_t{16} << 20;
/// Number of system calls of the driver's thread after which criu stops watching for a staging mapping.
constexpr int kMostCalls = 300;

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr std::uint64_t kSmallPage = 4096;
/// Number of bytes that a thread of criu fills in one job.
constexpr std::uint64_t kPortion = std::uint64_t{64} << 20;

/// Returns the size in bytes of the pages that the kernel allocates for memory with MADV_HUGEPAGE.
std::uint64_t pageDistance() {
    std::string setting;
    std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), setting);
    return setting.empty() || setting.find("[never]") != std::string::npos ? kSmallPage : kHugePage;
}

/// Results of get_mempolicy(2) and getcpu(2) in the driver's thread. The kernel writes them to the first page of the
/// staging mapping.
struct Asked {
    int mode = 0;
    unsigned cpu = 0;
    unsigned node = 0;
    unsigned unused = 0;
    kernel::MemoryPolicy::Nodes nodes{};
};

/// Writes a zero byte to each page of a range, so that the kernel allocates the page. The process hasn't written to
/// these pages yet, so their content doesn't change.
void touch(HostPid pid, std::uint64_t start, std::uint64_t end, std::uint64_t distance) {
    std::vector<kernel::RemoteRange> pages;
    for (std::uint64_t at = start; at < end; at += distance)
        pages.push_back({at, 1});
    const std::vector<std::byte> zeroes(pages.size());
    (void)kernel::writeMemorySome(pid.value, pages, zeroes);
}

}  // namespace

void StagingMonitor::enter(compel::Tracee& thread) {
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

bool StagingMonitor::leave(compel::Tracee& thread) {
    if (asked_ == 0)
        return calls_ < kMostCalls;
    const std::int64_t start = thread.registers().syscallResult();
    if (compel::isSyscallError(start))
        return true;
    size_ = asked_;
    wantHugePages(thread, static_cast<std::uint64_t>(start));
    makePages(static_cast<std::uint64_t>(start), placement(thread, static_cast<std::uint64_t>(start)));
    return false;
}

/// Makes the driver's thread call madvise(2) with MADV_HUGEPAGE. If this fails, the kernel uses small pages.
void StagingMonitor::wantHugePages(compel::Tracee& thread, std::uint64_t start) const {
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

/// Returns the memory policy for pages of the staging mapping: the kernel would apply it if the driver's thread wrote
/// to them. Returns nullopt on machines with one NUMA node, or after a failure.
std::optional<kernel::MemoryPolicy> StagingMonitor::placement(compel::Tracee& thread, std::uint64_t start) const {
    if (!kernel::hasSeveralNodes())
        return std::nullopt;
    Asked asked;
    try {
        // The system calls write their results to the first page of the mapping. No other thread uses this page,
        // because the mapping is new.
        const std::int64_t results[] = {
            compel::insertCall(thread, SYS_get_mempolicy,
                               {start + offsetof(Asked, mode), start + offsetof(Asked, nodes),
                                kernel::MemoryPolicy::kMostNodes, 0, 0}),
            compel::insertCall(thread, SYS_getcpu, {start + offsetof(Asked, cpu), start + offsetof(Asked, node), 0})};
        const auto bytes = std::as_writable_bytes(std::span(&asked, 1));
        kernel::readMemory(pid_.value, start, bytes);
        kernel::writeMemory(pid_.value, start, std::vector<std::byte>(bytes.size()));
        if (std::any_of(std::begin(results), std::end(results), compel::isSyscallError))
            return std::nullopt;
        const bool isOwn = asked.mode != MPOL_DEFAULT && asked.mode != MPOL_LOCAL;
        log_.debug("cuda: memory for contents of process {} is made {}", pid_,
                   isOwn ? fmt::format("by the policy {:#x} of its thread", asked.mode)
                         : fmt::format("on node {}", asked.node));
        return isOwn ? kernel::MemoryPolicy{asked.mode, asked.nodes} : kernel::MemoryPolicy::preferring(asked.node);
    } catch (const compel::TraceeGone&) {
        throw;
    } catch (const std::exception& error) {
        log_.warn("cuda: on which node process {} wants memory isn't known: {}", pid_, error.what());
        return std::nullopt;
    }
}

/// Fills the pages of the staging mapping by several threads. If this fails, the kernel allocates each page when the
/// driver's thread writes to it.
void StagingMonitor::makePages(std::uint64_t start,
                               const std::optional<kernel::MemoryPolicy>& placement) const noexcept {
    try {
        const std::uint64_t distance = pageDistance();
        const std::uint64_t end = start + size_;
        // Only the range from `first` to `last` consists of complete huge pages.
        const std::uint64_t first = std::min(end, (start + kHugePage - 1) / kHugePage * kHugePage);
        const std::uint64_t last = std::max(first, end / kHugePage * kHugePage);
        const SignalsBlocked handedDown;
        ThreadPool pool(availableCores());
        const auto submit = [&](std::uint64_t from, std::uint64_t to, std::uint64_t apart) {
            pool.submit([this, &placement, from, to, apart] {
                // A failure is harmless: pages on other NUMA nodes are only slower.
                if (placement)
                    (void)kernel::setMemoryPolicy(*placement);
                touch(pid_, from, to, apart);
            });
        };
        submit(start, first, kSmallPage);
        submit(last, end, kSmallPage);
        for (std::uint64_t at = first; at < last; at += kPortion)
            submit(at, std::min(at + kPortion, last), distance);
        pool.wait();
    } catch (const std::exception&) {
        return;  // the kernel allocates the missing pages when the driver's thread writes to them
    }
}

}  // namespace criu::cuda
