// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/files/service_fds.hpp"

#include <linux/capability.h>
#include <sys/resource.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>

#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::engine {
namespace {

/// Returns the highest limit of open files that criu can set. The kernel allows no limit above fs.nr_open (do_prlimit()
/// in kernel/sys.c).
int highestFileLimit() {
    rlimit limit{};
    sys(::getrlimit(RLIMIT_NOFILE, &limit), "read the limit of open files");
    std::size_t most = limit.rlim_max;
    if (kernel::hasCapability(CAP_SYS_RESOURCE))
        most = std::max<std::size_t>(most, std::stoul(kernel::ProcDir().readFile("sys/fs/nr_open")));
    return static_cast<int>(std::min<std::size_t>(most, std::numeric_limits<int>::max()));
}

}  // namespace

ServiceFds widestRange(const std::set<int>& used, int limit) {
    ServiceFds widest{0, -1};
    int next = 0;
    for (const int fd : used) {
        if (const ServiceFds gap{next, std::min(fd, limit) - 1}; gap.room() > widest.room())
            widest = gap;
        next = fd + 1;
    }
    if (const ServiceFds rest{next, limit - 1}; rest.room() >= widest.room())
        widest = rest;
    return widest;
}

void requireServiceRange(const std::set<int>& used) {
    const int limit = highestFileLimit();
    const int highest = used.empty() ? -1 : *used.rbegin();
    if (highest < limit && widestRange(used, limit).room() >= kServiceRoom)
        return;
    Error error(0, fmt::format("processes of the tree use descriptors up to {}, so a restore couldn't have {} in a row "
                               "for itself below {}",
                               highest, kServiceRoom, limit));
    error.addHint("raise the hard limit of open files (ulimit -Hn) and the sysctl fs.nr_open");
    throw error;
}

}  // namespace criu::engine
