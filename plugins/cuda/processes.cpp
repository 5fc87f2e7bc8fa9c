// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/processes.hpp"

#include <fcntl.h>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/fdinfo.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/kernel/proc/status.hpp"
#include "criu/kernel/proc/tasks.hpp"

namespace criu::cuda {

bool usesCuda(HostPid pid) {
    kernel::ProcBuffer buffer;
    try {
        return kernel::ProcDir().open(pid.value).read("maps", buffer).find("/libcuda.so") != std::string_view::npos;
    } catch (const Error& error) {
        // If criu has no right to read the maps of a process, it can't query the driver either. The dump of such a
        // process fails later, when criu stops the process.
        if (error.code() != ENOENT && error.code() != ESRCH && error.code() != EACCES && error.code() != EPERM)
            throw;
        return false;
    }
}

bool isStopped(HostPid pid) {
    kernel::ProcBuffer buffer;
    return kernel::readStat(kernel::ProcDir().open(pid.value), buffer).state == kernel::TaskState::Stopped;
}

bool isTraceStopped(HostPid process, pid_t thread) {
    kernel::ProcBuffer buffer;
    return kernel::readThreadStatus(kernel::ProcDir().open(process.value), thread, buffer).state ==
           kernel::TaskState::Tracing;
}

std::uint64_t dataSize(HostPid pid) {
    kernel::ProcBuffer buffer;
    kernel::Scanner scan(kernel::ProcDir().open(pid.value).read("status", buffer));
    std::string_view line;
    while (scan.line(line)) {
        constexpr std::string_view kKey = "VmData:";
        if (!line.starts_with(kKey))
            continue;
        kernel::Scanner value(line.substr(kKey.size()));
        value.blanks();
        std::uint64_t kibibytes = 0;
        if (value.number(kibibytes))
            return kibibytes << 10;
    }
    return 0;
}

bool isDevicePath(std::string_view path) noexcept {
    // The library also opens capability files (/dev/nvidia-caps/nvidia-capN) of the driver.
    for (const std::string_view devices : {"/dev/nvidia-caps/nvidia-cap", "/dev/nvidia"})
        if (path.starts_with(devices) && path.find('/', devices.size()) == std::string_view::npos)
            return true;
    return false;
}

std::vector<DeviceDescriptor> deviceDescriptors(HostPid pid) {
    const kernel::ProcPid process = kernel::ProcDir().open(pid.value);
    kernel::ProcBuffer buffer;
    std::vector<DeviceDescriptor> found;
    for (const int fd : kernel::readDescriptors(process))
        if (std::string link = process.readLink(fmt::format("fd/{}", fd));
            link.starts_with("/dev/nvidia") && (kernel::readFdInfo(process, fd, buffer).flags & O_PATH) == 0)
            found.push_back({fd, std::move(link)});
    return found;
}

void refuseOpenDevices(HostPid pid) {
    const std::vector<DeviceDescriptor> open = deviceDescriptors(pid);
    if (open.empty())
        return;
    Error error(0, fmt::format("descriptor {} of process {} is {}, which the CUDA driver has left open",
                               open.front().fd, pid, open.front().path));
    error.addHint("a library beside CUDA opened it: have the program close it before the dump");
    throw error;
}

TreePid inTree(HostPid pid) {
    return threadInTree(pid, pid.value);
}

TreePid threadInTree(HostPid process, pid_t thread) {
    kernel::ProcBuffer buffer;
    const kernel::TaskStatus status = kernel::readThreadStatus(kernel::ProcDir().open(process.value), thread, buffer);
    return TreePid(status.innermostPid());
}

}  // namespace criu::cuda
