// SPDX-License-Identifier: GPL-2.0-only
// Checks a rule of the driver: it restores a process only where the device cgroup allows exactly as many GPUs as before
// (criu_restore_devices() of kfd_chardev.c).
// usage: interface_groups FOLDER save, in one group; then interface_groups FOLDER ERRNO, in another
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "gpu/kfd.hpp"
#include "gpu/render.hpp"
#include "gpu/subject.hpp"
#include "gpu/topology.hpp"

namespace {

template <typename T>
std::uint64_t address(std::vector<T>& values) {
    values.reserve(1);
    return reinterpret_cast<std::uint64_t>(values.data());
}

// Stores the checkpoint of a process that has only GPUs.
void save(const std::string& path) {
    const gpu::Kfd kfd;
    kfd_ioctl_criu_args arguments{};
    arguments.op = KFD_CRIU_OP_PROCESS_INFO;
    kfd.call(AMDKFD_IOC_CRIU_OP, arguments, "PROCESS_INFO");
    gpu::expect(arguments.num_devices == 2 && arguments.num_bos == 0, "the process has other GPUs, or buffers");
    std::vector<kfd_criu_device_bucket> devices(arguments.num_devices);
    std::vector<kfd_criu_bo_bucket> buffers;
    std::vector<char> data(arguments.priv_data_size);
    arguments.devices = address(devices);
    arguments.bos = address(buffers);
    arguments.priv_data = address(data);
    arguments.op = KFD_CRIU_OP_CHECKPOINT;
    kfd.call(AMDKFD_IOC_CRIU_OP, arguments, "CHECKPOINT");
    std::ofstream(path, std::ios::binary).write(data.data(), static_cast<std::streamsize>(data.size()));
}

void restore(const std::string& path, int wanted) {
    std::ifstream file(path, std::ios::binary);
    std::vector<char> data((std::istreambuf_iterator<char>(file)), {});
    const std::vector<gpu::Node> nodes = gpu::nodes();
    std::vector<kfd_criu_device_bucket> devices;
    for (std::size_t at = 0; at < 2; ++at) {
        const gpu::Node& node = nodes[at % nodes.size()];
        const gpu::Render render(node.render_path());
        devices.push_back({node.id, node.id, static_cast<std::uint32_t>(render.fd()), 0});
    }
    std::vector<kfd_criu_bo_bucket> buffers;
    kfd_ioctl_criu_args arguments{};
    arguments.op = KFD_CRIU_OP_RESTORE;
    arguments.num_devices = 2;
    arguments.devices = address(devices);
    arguments.bos = address(buffers);
    arguments.priv_data = address(data);
    arguments.priv_data_size = data.size();
    const int kfd = gpu::require(open("/dev/kfd", O_RDWR | O_CLOEXEC), "open /dev/kfd");
    const int got = ioctl(kfd, AMDKFD_IOC_CRIU_OP, &arguments) == 0 ? 0 : errno;
    gpu::expect(got == wanted, "RESTORE of 2 GPUs where " + std::to_string(nodes.size()) + " are allowed gives errno " +
                                   std::to_string(got));
}

}  // namespace

int main(int argc, char** argv) {
    return gpu::run(argc, argv, [&](gpu::Subject&) {
        gpu::expect(argc == 3, "two arguments are wanted");
        const std::string path = std::string(argv[1]) + "/state";
        if (argv[2] == std::string("save"))
            save(path);
        else
            restore(path, std::atoi(argv[2]));
    });
}
