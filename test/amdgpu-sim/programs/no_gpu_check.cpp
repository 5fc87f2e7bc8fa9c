// SPDX-License-Identifier: GPL-2.0-only
// Checks the distribution's amdgpu driver on a machine without its hardware: /dev/kfd exists and shows no GPUs. criu
// must recognise exactly these errors as "no GPU".
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include <cerrno>

#include "gpu/subject.hpp"

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [](gpu::Subject&) {
        struct stat status {};
        gpu::expect(stat("/sys/class/kfd/kfd/topology/simulated", &status) != 0, "this is the simulated driver");
        const int fd = gpu::require(open("/dev/kfd", O_RDWR | O_CLOEXEC), "open /dev/kfd");
        kfd_ioctl_get_version_args version{};
        gpu::require(ioctl(fd, AMDKFD_IOC_GET_VERSION, &version), "GET_VERSION");
        gpu::expect(version.major_version == 1 && version.minor_version >= 8, "the driver can't checkpoint");
        kfd_ioctl_criu_args info{};
        info.op = KFD_CRIU_OP_PROCESS_INFO;
        gpu::expect(ioctl(fd, AMDKFD_IOC_CRIU_OP, &info) == -1 && errno == ENODEV,
                    "PROCESS_INFO without GPUs doesn't give ENODEV");
    });
}
