// SPDX-License-Identifier: GPL-2.0-only
#include "plugins/cuda/held.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace criu::cuda {

LockedProcesses::LockedProcesses() : memory_(Mapping::anonymous(sizeof(Page), MAP_SHARED)) {}

LockedProcesses::Page& LockedProcesses::page() const noexcept {
    return *reinterpret_cast<Page*>(memory_.data());
}

void LockedProcesses::add(HostPid pid, State before) noexcept {
    const std::uint32_t count = page().count;
    const auto known = std::span(page().processes).first(count);
    // The list may already contain the process: after a timeout of one process, quiesce() locks all processes again.
    if (count == kMost ||
        std::any_of(known.begin(), known.end(), [&](const Entry& each) { return each.pid == pid.value; }))
        return;
    page().processes[count].pid = pid.value;
    page().processes[count].before = before;
    page().processes[count].count = 0;
    __atomic_store_n(&page().count, count + 1, __ATOMIC_RELEASE);
}

void LockedProcesses::store(HostPid pid, std::span<const StoredContent> contents) noexcept {
    for (Entry& entry : std::span(page().processes).first(page().count)) {
        if (entry.pid != pid.value || contents.size() > kMostGpus)
            continue;
        for (std::size_t i = 0; i < contents.size(); ++i)
            entry.contents[i] = {contents[i].gpu, contents[i].bytes, contents[i].object};
        __atomic_store_n(&entry.count, static_cast<std::uint32_t>(contents.size()), __ATOMIC_RELEASE);
    }
}

void LockedProcesses::clear() noexcept {
    __atomic_store_n(&page().count, 0U, __ATOMIC_RELEASE);
}

std::vector<LockedProcesses::Process> LockedProcesses::all() const {
    std::vector<Process> found;
    const std::size_t count = std::min<std::size_t>(__atomic_load_n(&page().count, __ATOMIC_ACQUIRE), kMost);
    for (const Entry& entry : std::span(page().processes).first(count)) {
        Process& process = found.emplace_back();
        process.pid = HostPid(entry.pid);
        process.before = entry.before;
        const std::uint32_t stored = __atomic_load_n(&entry.count, __ATOMIC_ACQUIRE);
        for (const Content& each : std::span(entry.contents).first(std::min<std::size_t>(stored, kMostGpus)))
            process.contents.push_back({each.gpu, each.bytes, each.object, nullptr});
    }
    return found;
}

}  // namespace criu::cuda
