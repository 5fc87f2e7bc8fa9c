// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/amdgpu/resume_watch.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <utility>

namespace criu::amdgpu {
namespace {

constexpr std::string_view kStatistics = "stats_";
constexpr useconds_t kResumePoll = 2000;

std::string contentOf(const std::string& path) {
    std::string line;
    std::ifstream file(path);
    std::getline(file, line);
    return line;
}

}  // namespace

void ResumeWatch::add(HostPid pid) {
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(fmt::format("{}/{}", root_, pid), none)) {
        const std::string name = entry.path().filename();
        if (!name.starts_with(kStatistics))
            continue;
        const std::string file = entry.path() / "evicted_ms";
        if (std::string before = contentOf(file); !before.empty())
            waiting_.push_back({pid, name.substr(kStatistics.size()), file, std::move(before)});
    }
}

void ResumeWatch::await(std::chrono::seconds patience, Log& log, const std::function<void()>& poll) {
    const auto end = std::chrono::steady_clock::now() + patience;
    for (;;) {
        // An empty file: the process is gone.
        std::erase_if(waiting_, [](const Gpu& gpu) { return contentOf(gpu.file) != gpu.before; });
        if (waiting_.empty() || std::chrono::steady_clock::now() >= end)
            break;
        poll();
        ::usleep(kResumePoll);
    }
    for (const Gpu& gpu : waiting_)
        log.warn(
            "amdgpu: process {}: its queues on GPU {} don't run {} seconds after RESUME; the driver may lack memory, "
            "or "
            "can't find memory of the process that the GPU uses: see the kernel's log",
            gpu.pid, gpu.name, patience.count());
    waiting_.clear();
}

}  // namespace criu::amdgpu
