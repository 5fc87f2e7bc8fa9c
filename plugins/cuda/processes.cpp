// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/processes.hpp"

#include "criu/base/error.hpp"
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
        // Without permission to read the maps criu can't query the driver either. The dump of such a process fails when
        // criu stops it.
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

void refuseOpenDevices(HostPid pid) {
    const kernel::ProcPid process = kernel::ProcDir().open(pid.value);
    for (const int fd : kernel::readDescriptors(process)) {
        const std::string link = process.readLink(fmt::format("fd/{}", fd));
        if (!link.starts_with("/dev/nvidia"))
            continue;
        Error error(
            0, fmt::format("descriptor {} of process {} is {}, which the CUDA driver has left open", fd, pid, link));
        error.addHint("a library beside CUDA opened it, or the process was forked from one that uses CUDA");
        throw error;
    }
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
