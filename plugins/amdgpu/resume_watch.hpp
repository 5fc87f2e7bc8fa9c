// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"

namespace criu::amdgpu {

/// Finds out if queues run after RESUME. RESUME only schedules work, which looks up memory of the process and starts
/// the queues, and tries again after a failure (amdgpu_amdkfd_criu_resume() and
/// amdgpu_amdkfd_restore_userptr_worker() of amdgpu_amdkfd_gpuvm.c, Linux 6.1). When the queues of a GPU start, the
/// driver adds the time for which they stood still to a number in sysfs (restore_process_queues_cpsch() of
/// kfd_device_queue_manager.c).
class ResumeWatch {
public:
    static constexpr const char* kSysfs = "/sys/class/kfd/kfd/proc";

    explicit ResumeWatch(std::string root = kSysfs) : root_(std::move(root)) {}

    /// Must precede RESUME of the process. Does nothing if sysfs doesn't show the process.
    void add(HostPid pid);
    /// Waits for the queues of all processes, and warns of queues that don't run in time. `poll` is called again and
    /// again.
    void await(std::chrono::seconds patience, Log& log, const std::function<void()>& poll);

private:
    struct Gpu {
        HostPid pid;
        std::string name;
        std::string file;
        std::string before;
    };
    std::string root_;
    std::vector<Gpu> waiting_;
};

}  // namespace criu::amdgpu
