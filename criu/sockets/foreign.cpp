// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/foreign.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "criu/base/error.hpp"

namespace criu::sockets {

void refuseForeign(const files::OpenFd& file) {
    const UniqueFd network(::ioctl(file.copy.get(), SIOCGSKNS));
    struct stat theirs {};
    struct stat ours {};
    if (network && ::fstat(network.get(), &theirs) == 0 && ::stat("/proc/self/ns/net", &ours) == 0 &&
        theirs.st_ino != ours.st_ino)
        fail("{} is a socket of another network namespace, which can't be dumped", file.describe());
}

}  // namespace criu::sockets
