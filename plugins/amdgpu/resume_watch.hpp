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

/// Finds out if queues run after RESUME. RESUME only schedules work in the driver. That work looks up memory of the
/// process, starts the queues, and repeats itself after a failure (amdgpu_amdkfd_criu_resume() and
/// amdgpu_amdkfd_restore_userptr_worker() of amdgpu_amdkfd_gpuvm.c, Linux 6.1). When the queues of a GPU start, the
/// driver adds the time for which they stood still to evicted_ms in sysfs (restore_process_queues_cpsch() of
/// kfd_device_queue_manager.c, Linux 6.1).
class ResumeWatch {
public:
    /// Folder of the driver with a subfolder for each process.
    static constexpr const char* kSysfs = "/sys/class/kfd/kfd/proc";
    /// Time after which await() ends if evicted_ms of no GPU has changed: the driver may not count at all.
    static constexpr std::chrono::seconds kDoubtAfter{3};

    explicit ResumeWatch(std::string root = kSysfs) : root_(std::move(root)) {}

    /// Remembers evicted_ms of each GPU on which the process has queues. Must precede RESUME of the process.
    void add(HostPid pid);
    /// Waits for the queues of all processes, and warns of queues that don't run in time. Calls `poll` repeatedly.
    void await(std::chrono::seconds patience, Log& log, const std::function<void()>& poll);

private:
    struct Gpu {
        HostPid pid;
        std::string name;    ///< the machine's GPU id in decimal
        std::string file;    ///< path of evicted_ms
        std::string before;  ///< content of `file` before RESUME
    };
    std::string root_;
    std::vector<Gpu> waiting_;  ///< GPUs whose queues haven't started yet
};

}  // namespace criu::amdgpu
