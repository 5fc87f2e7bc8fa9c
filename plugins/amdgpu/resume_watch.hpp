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

/// Check that queues run after RESUME. RESUME only schedules work in the driver. This work finds memory of the process
/// and starts its queues; after a failure, it tries again. See amdgpu_amdkfd_criu_resume() and
/// amdgpu_amdkfd_restore_userptr_worker() of amdgpu_amdkfd_gpuvm.c (Linux 6.1). When queues of a GPU start, the driver
/// adds the duration of their stop to evicted_ms in sysfs. See restore_process_queues_cpsch() of
/// kfd_device_queue_manager.c (Linux 6.1).
class ResumeWatch {
public:
    /// Folder of the driver in sysfs with a subfolder for each process.
    static constexpr const char* kSysfs = "/sys/class/kfd/kfd/proc";
    /// Time after which await() stops if evicted_ms hasn't changed for any GPU. The driver may not update evicted_ms at
    /// all.
    static constexpr std::chrono::seconds kDoubtAfter{3};

    explicit ResumeWatch(std::string root = kSysfs) : root_(std::move(root)) {}

    /// Reads evicted_ms of each GPU on which the process has queues. Call it before RESUME of the process.
    void add(HostPid pid);
    /// Waits until the queues of all processes run. Warns of queues that don't run within `patience`. Calls `poll`
    /// repeatedly.
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
