// SPDX-License-Identifier: LGPL-2.1-only
#include "memory_limits.hpp"

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>

#include "fail.hpp"
#include "proc.hpp"

namespace compel {
namespace {

std::uint64_t firstNumber(std::string_view text) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

std::string raised(std::string_view name, std::uint64_t limit, pid_t pid, std::string_view option) {
    return join("it has reached its ", name, " of ", limit, " bytes; prlimit --pid ", pid, " --", option,
                "=BYTES raises that");
}

/// Returns the soft limit with this name; nothing if it is unlimited. `limits`: content of /proc/PID/limits; the caller
/// reads this file, because prlimit(2) needs more permissions.
std::optional<std::uint64_t> softLimit(std::string_view limits, std::string_view name) {
    const auto line = limits.find(name);
    if (line == std::string_view::npos)
        return std::nullopt;
    const auto value = limits.find_first_not_of(' ', line + name.size());
    if (value == std::string_view::npos || limits[value] < '0' || limits[value] > '9')
        return std::nullopt;
    return firstNumber(limits.substr(value));
}

/// Returns true if `size` more bytes would exceed the limit in a process that uses `used` bytes.
bool isReached(const std::optional<std::uint64_t>& limit, std::uint64_t used, std::uint64_t size) {
    return limit && used + size > *limit;
}

/// Returns the number of mappings as the kernel counts them for vm.max_map_count: without the vsyscall page.
std::uint64_t countMappings(pid_t pid) {
    std::uint64_t count = 0;
    visitMappings(pid, [&](const MemoryRange& range) {
        if (range.name != "[vsyscall]")
            ++count;
        return true;
    });
    return count;
}

}  // namespace

std::string limitOfMemory(pid_t tid, std::uint64_t size, bool isData, int code) {
    std::optional<ThreadStatus> status;
    try {
        status = readThreadStatus(tid);
    } catch (const Error&) {
        // Ignored: the caller reports another error, and this text is only a hint.
    }
    if (!status)
        return {};
    const pid_t pid = status->process;
    const std::string limits = readWholeFile(join("/proc/", pid, "/limits")).value_or("");
    if (code == EAGAIN) {
        // EAGAIN: the process has called mlockall(2) with MCL_FUTURE, so that the kernel locks new mappings in memory.
        const auto limit = softLimit(limits, "Max locked memory");
        return isReached(limit, status->locked, size)
                   ? raised("limit of locked memory (RLIMIT_MEMLOCK)", *limit, pid, "memlock")
                   : std::string();
    }
    if (code != ENOMEM)
        return {};
    if (const auto limit = softLimit(limits, "Max address space"); isReached(limit, status->mapped, size))
        return raised("limit of address space (RLIMIT_AS)", *limit, pid, "as");
    if (const auto limit = softLimit(limits, "Max data size"); isData && isReached(limit, status->data, size))
        return raised("limit of data (RLIMIT_DATA)", *limit, pid, "data");
    const std::uint64_t most = firstNumber(readWholeFile("/proc/sys/vm/max_map_count").value_or(""));
    if (most != 0 && countMappings(pid) >= most)
        return join("it has as many mappings as a process may have; sysctl vm.max_map_count, which is ", most,
                    ", raises that");
    constexpr int never = 2;
    if (firstNumber(readWholeFile("/proc/sys/vm/overcommit_memory").value_or("")) == never)
        return "the machine has no memory left that it may promise (vm.overcommit_memory is 2)";
    return {};
}

}  // namespace compel
