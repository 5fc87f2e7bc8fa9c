// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/service_fds.hpp"

#include <sys/resource.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <fstream>

#include "criu/base/error.hpp"
#include "criu/kernel/capabilities.hpp"

namespace criu::engine {

TEST_CASE("the widest range of free descriptors lies before, between or behind those in use") {
    const auto widest = [](const std::set<int>& used, int limit) {
        const ServiceFds range = widestRange(used, limit);
        return std::pair(range.first, range.last);
    };
    CHECK(widest({}, 100) == std::pair(0, 99));
    CHECK(widest({0, 1, 2}, 100) == std::pair(3, 99));
    CHECK(widest({0, 1, 60, 99}, 100) == std::pair(2, 59));
    CHECK(widest({50, 70}, 80) == std::pair(0, 49));
    CHECK(widest({10, 500}, 100) == std::pair(11, 99));
}

TEST_CASE("a dump refuses descriptors that leave a restore no range for itself") {
    rlimit limit{};
    REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    unsigned long most = 0;
    std::ifstream("/proc/sys/fs/nr_open") >> most;
    constexpr unsigned kSysResource = 24;  // CAP_SYS_RESOURCE
    const bool raises = kernel::hasCapability(kSysResource);
    const auto highest = static_cast<int>(raises ? std::max<unsigned long>(limit.rlim_max, most) : limit.rlim_max);
    requireServiceRange({});
    requireServiceRange({0, 1, 2, 1000});
    std::set<int> used;
    for (int fd = 0; fd < highest; fd += kServiceRoom)
        used.insert(used.end(), fd);
    CHECK_THROWS_AS(requireServiceRange(used), Error);
    used.erase(kServiceRoom);
    requireServiceRange(used);
}

}  // namespace criu::engine
