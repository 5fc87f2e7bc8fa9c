// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/resume_watch.hpp"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

namespace criu::amdgpu {
namespace {

constexpr std::string_view kStatistics = "stats_";
constexpr useconds_t kResumePoll = 2000;  // interval of checks in microseconds

std::string contentOf(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

/// Returns the GPUs on which a process has queues (kfd_procfs_add_queue() of kfd_process.c, Linux 6.1). Returns nullopt
/// if the driver doesn't list queues.
std::optional<std::set<std::string>> gpusWithQueues(const std::string& process) {
    std::error_code failure;
    std::set<std::string> gpus;
    for (const auto& queue : std::filesystem::directory_iterator(process + "/queues", failure))
        gpus.insert(contentOf(queue.path() / "gpuid"));
    return failure ? std::nullopt : std::optional(gpus);
}

}  // namespace

void ResumeWatch::add(HostPid pid) {
    const std::string process = fmt::format("{}/{}", root_, pid);
    const auto gpus = gpusWithQueues(process);
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(process, none)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(kStatistics))
            continue;
        std::string gpu = name.substr(kStatistics.size());
        if (gpus && !gpus->contains(gpu))
            continue;
        const std::string file = entry.path() / "evicted_ms";
        if (std::string before = contentOf(file); !before.empty())
            waiting_.push_back({pid, std::move(gpu), file, std::move(before)});
    }
}

void ResumeWatch::await(std::chrono::seconds patience, Log& log, const std::function<void()>& poll) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point began = Clock::now();
    const std::size_t all = waiting_.size();
    for (;;) {
        // If a process has ended, its file is empty, and criu stops waiting for it.
        std::erase_if(waiting_, [](const Gpu& gpu) { return contentOf(gpu.file) != gpu.before; });
        const auto limit = waiting_.size() == all ? std::min(patience, kDoubtAfter) : patience;
        if (waiting_.empty() || Clock::now() - began >= limit)
            break;
        poll();
        ::usleep(kResumePoll);
    }
    const bool doubtful = waiting_.size() == all && patience > kDoubtAfter;
    for (const Gpu& gpu : waiting_)
        if (doubtful)
            log.warn(
                "amdgpu: process {}: can't tell whether queues run on GPU {}: the driver has counted the stop of no "
                "GPU {} seconds after RESUME (evicted_ms). If the program hangs, see the kernel's log",
                gpu.pid, gpu.name, kDoubtAfter.count());
        else
            log.warn(
                "amdgpu: process {}: its queues on GPU {} don't run {} seconds after RESUME; the driver may lack "
                "memory, or can't find memory of the process that the GPU uses: see the kernel's log",
                gpu.pid, gpu.name, patience.count());
    waiting_.clear();
}

}  // namespace criu::amdgpu
