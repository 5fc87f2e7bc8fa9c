// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/limits.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/scan.hpp"

namespace criu::kernel {

namespace {

struct LimitName {
    std::string_view name;
    std::size_t resource;
};

constexpr std::array kLimitNames{
    LimitName{"Max cpu time", RLIMIT_CPU},
    LimitName{"Max file size", RLIMIT_FSIZE},
    LimitName{"Max data size", RLIMIT_DATA},
    LimitName{"Max stack size", RLIMIT_STACK},
    LimitName{"Max core file size", RLIMIT_CORE},
    LimitName{"Max resident set", RLIMIT_RSS},
    LimitName{"Max processes", RLIMIT_NPROC},
    LimitName{"Max open files", RLIMIT_NOFILE},
    LimitName{"Max locked memory", RLIMIT_MEMLOCK},
    LimitName{"Max address space", RLIMIT_AS},
    LimitName{"Max file locks", RLIMIT_LOCKS},
    LimitName{"Max pending signals", RLIMIT_SIGPENDING},
    LimitName{"Max msgqueue size", RLIMIT_MSGQUEUE},
    LimitName{"Max nice priority", RLIMIT_NICE},
    LimitName{"Max realtime priority", RLIMIT_RTPRIO},
    LimitName{"Max realtime timeout", RLIMIT_RTTIME},
};
static_assert(kLimitNames.size() == kRlimits);

rlim_t limitValue(Scanner& scan) {
    scan.blanks();
    if (scan.skip("unlimited"))
        return RLIM_INFINITY;
    return scan.needNumber<rlim_t>("a limit");
}

}  // namespace

ResourceLimits parseLimits(std::string_view text) {
    ResourceLimits limits{};
    std::uint32_t missing = (1U << kRlimits) - 1;
    Scanner lines(text);
    std::string_view line;
    while (lines.line(line)) {
        for (const LimitName& entry : kLimitNames) {
            Scanner scan(line);
            if (!scan.skip(entry.name) || scan.peek() != ' ')
                continue;
            {
                const ErrorContext context([&] { return std::string(entry.name); });
                limits[entry.resource].rlim_cur = limitValue(scan);
                limits[entry.resource].rlim_max = limitValue(scan);
            }
            missing &= ~(1U << entry.resource);
            break;
        }
    }
    if (missing != 0)
        fail("limit {} is missing", std::countr_zero(missing));
    return limits;
}

ResourceLimits readLimits(const ProcPid& process, ProcBuffer& buffer) {
    const ErrorContext context([&] { return process.path() + "/limits"; });
    return parseLimits(process.read("limits", buffer));
}

int raiseFileLimit() {
    rlimit limit{};
    sys(::getrlimit(RLIMIT_NOFILE, &limit), "read the limit of open files");
    limit.rlim_cur = limit.rlim_max;
    sys(::setrlimit(RLIMIT_NOFILE, &limit), "raise the limit of open files to {}", limit.rlim_max);
    constexpr rlim_t kPlenty = 1U << 30;
    return static_cast<int>(std::min(limit.rlim_max, kPlenty));
}

bool makeRoomForFiles(std::size_t count) noexcept {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return false;
    if (limit.rlim_cur >= count)
        return true;
    limit.rlim_cur = count;
    limit.rlim_max = std::max<rlim_t>(limit.rlim_max, count);
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

std::size_t allowedMappings() {
    return std::stoul(ProcDir().readFile("sys/vm/max_map_count"));
}

}  // namespace criu::kernel
