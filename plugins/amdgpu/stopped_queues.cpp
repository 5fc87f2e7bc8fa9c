// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/stopped_queues.hpp"

#include <sys/mman.h>

#include <compel/tracee.hpp>

#include <algorithm>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "plugins/amdgpu/driver/kernel.hpp"
#include "plugins/amdgpu/driver/kfd.hpp"

namespace criu::amdgpu {
namespace {

/// Starts the queues of a process. Does nothing if the process has ended. The driver refuses the call if another
/// process has the pid now.
void start(Kernel& kernel, HostPid pid, int fd, Log& log) {
    UniqueFd kfd;
    try {
        kfd = kernel::PidFd(pid.value).getFd(fd);
    } catch (const Error&) {
        return;
    }
    if (kernel.status(kfd.get()).st_rdev != kernel.device(kKfdPath))
        return;
    // If a descriptor is from another process, the driver accepts calls only from the tracer of this process
    // (kfd_ioctl() in kfd_chardev.c).
    const compel::Tracee traced = compel::Tracee::seize(pid.value);
    if (Kfd(kernel, kfd.get()).unpauseLeftOver())
        log.info("amdgpu: the queues of process {} go on", pid);
}

}  // namespace

StoppedQueues::StoppedQueues() : memory_(Mapping::anonymous(sizeof(Page), MAP_SHARED)) {}

StoppedQueues::Page& StoppedQueues::page() const noexcept {
    return *reinterpret_cast<Page*>(memory_.data());
}

void StoppedQueues::add(HostPid pid, int fd) noexcept {
    const std::uint32_t count = page().count;
    if (count == kMost)
        return;
    page().entries[count] = {pid.value, fd};
    page().count = count + 1;
}

void StoppedQueues::clear() noexcept {
    page().count = 0;
}

void StoppedQueues::removeLast() noexcept {
    if (page().count != 0)
        --page().count;
}

void StoppedQueues::startAll(Kernel& kernel, Log& log) noexcept {
    for (const Entry& entry : std::span(page().entries).first(std::min<std::uint32_t>(page().count, kMost))) {
        try {
            start(kernel, HostPid(entry.pid), entry.fd, log);
        } catch (const std::exception& error) {
            log.error("amdgpu: process {} stays without its GPU queues: {}", entry.pid, error.what());
        }
    }
    clear();
}

}  // namespace criu::amdgpu
