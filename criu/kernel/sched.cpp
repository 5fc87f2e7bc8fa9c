// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/sched.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

SchedAttributes schedAttributes(pid_t tid) {
    KernelSchedAttributes raw{};
    sys(::syscall(SYS_sched_getattr, tid, &raw, sizeof(raw), 0), "get scheduling attributes of {}", tid);
    return {raw.policy,   raw.flags,  raw.nice,    raw.priority, raw.runtime,
            raw.deadline, raw.period, raw.utilMin, raw.utilMax};
}

int niceValue(pid_t tid) {
    // The result of the system call is 20 minus the nice value, because it must not be negative. glibc's wrapper would
    // subtract it again.
    const long raw = sys(::syscall(SYS_getpriority, PRIO_PROCESS, tid), "get nice value of {}", tid);
    return static_cast<int>(20 - raw);
}

std::vector<std::uint64_t> cpuAffinity(pid_t tid) {
    // Buffer for all CPUs that the kernel's configuration allows, because the kernel requires this size. It returns the
    // number of bytes that it has written.
    constexpr std::size_t mostWords = 1024;
    for (std::size_t words = 16; words <= mostWords; words *= 4) {
        std::vector<std::uint64_t> mask(words);
        const long bytes = ::syscall(SYS_sched_getaffinity, tid, words * sizeof(mask[0]), mask.data());
        if (bytes >= 0) {
            mask.resize(static_cast<std::size_t>(bytes) / sizeof(mask[0]));
            return mask;
        }
        if (errno != EINVAL || words == mostWords)
            failErrno("get CPU affinity of {}", tid);
    }
    fail("get CPU affinity of {}: more CPUs than fit", tid);
}

namespace {

constexpr std::size_t kCpusPerWord = 64;

/// Calls `found` with the first and last number of each range in a list of CPUs.
void forEachRange(std::string_view list, const std::function<void(std::size_t, std::size_t)>& found) {
    Scanner text(list);
    do {
        const auto first = text.needNumber<std::size_t>("the number of a processor");
        const auto last = text.skip('-') ? text.needNumber<std::size_t>("the number of a processor") : first;
        if (last < first)
            fail("processors {} to {} in a list", first, last);
        found(first, last);
    } while (text.skip(','));
}

}  // namespace

std::optional<std::size_t> onlineCpus() {
    constexpr const char* kPath = "/sys/devices/system/cpu/online";
    const UniqueFd file(::open(kPath, O_RDONLY | O_CLOEXEC));
    if (!file)
        return std::nullopt;
    ProcBuffer buffer;
    return countCpus(buffer.fill(file.get(), kPath));
}

std::size_t countCpus(std::string_view list) {
    std::size_t count = 0;
    forEachRange(list, [&](std::size_t first, std::size_t last) { count += last - first + 1; });
    return count;
}

std::vector<std::uint64_t> cpuMask(std::string_view list) {
    constexpr std::size_t kMostCpus = 65536;
    std::vector<std::uint64_t> mask;
    forEachRange(list, [&](std::size_t first, std::size_t last) {
        if (last >= kMostCpus)
            fail("processor {} in a list", last);
        mask.resize(std::max(mask.size(), last / kCpusPerWord + 1));
        for (std::size_t cpu = first; cpu <= last; ++cpu)
            mask[cpu / kCpusPerWord] |= std::uint64_t{1} << cpu % kCpusPerWord;
    });
    return mask;
}

bool restrictThread(std::string_view list) {
    const std::vector<std::uint64_t> wanted = cpuMask(list);
    std::vector<std::uint64_t> mask = cpuAffinity(0);
    bool any = false;
    for (std::size_t word = 0; word < mask.size(); ++word) {
        mask[word] &= word < wanted.size() ? wanted[word] : 0;
        any = any || mask[word] != 0;
    }
    if (any)
        sys(::syscall(SYS_sched_setaffinity, 0, mask.size() * sizeof(mask[0]), mask.data()), "restrict a thread to {}",
            list);
    return any;
}

RobustList robustList(pid_t tid) {
    RobustList list;
    sys(::syscall(SYS_get_robust_list, tid, &list.head, &list.length), "get robust futex list of {}", tid);
    return list;
}

void setResourceLimit(pid_t pid, int resource, const rlimit& limit) {
    sys(::prlimit(pid, static_cast<__rlimit_resource>(resource), &limit, nullptr), "set limit {} of {} to {}:{}",
        resource, pid, limit.rlim_cur, limit.rlim_max);
}

}  // namespace criu::kernel
