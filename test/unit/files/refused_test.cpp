// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/refused.hpp"

#include <sys/sysmacros.h>

#include <catch2/catch.hpp>

#include "criu/files/open_fd.hpp"

namespace criu {

TEST_CASE("refused files: an RDMA device is named with variables of NCCL") {
    constexpr unsigned kInfiniBand = 231;  // Documentation/admin-guide/devices.txt of Linux
    files::OpenFd file;
    file.pid = HostPid(7);
    file.fd = 5;
    file.link = "/dev/infiniband/uverbs0";
    file.stat.st_mode = S_IFCHR | 0666;
    file.stat.st_rdev = ::makedev(kInfiniBand, 192);
    CHECK_THROWS_WITH(files::refuseFile(file),
                      Catch::Contains("fd 5 of pid 7 (/dev/infiniband/uverbs0) is an RDMA device"));
}

}  // namespace criu
