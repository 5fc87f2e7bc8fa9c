// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"
#include "plugins/cuda/contents.hpp"

namespace criu::cuda {

/// Processes that a dump has locked or checkpointed, with their earlier states and their contents. The working process
/// shares this memory with the guardian, which needs it if the working process is killed.
class LockedProcesses {
public:
    LockedProcesses();

    /// Records a process before it is first locked or checkpointed. `before`: its state. Drops processes for which
    /// there is no room.
    void add(HostPid pid, State before) noexcept;
    /// Records that device contents of the process are in pages of the images. Several threads may call it at once.
    void store(HostPid pid, std::span<const StoredContent> contents) noexcept;
    /// Forgets all processes, because they have their earlier states.
    void clear() noexcept;

    struct Process {
        HostPid pid{0};
        State before{};
        std::vector<StoredContent> contents;  ///< empty: in memory of the process, or still on devices
    };
    [[nodiscard]] std::vector<Process> all() const;

private:
    static constexpr std::size_t kMost = 1000;
    static constexpr std::size_t kMostGpus = 16;
    struct Content {
        Uuid gpu{};
        std::uint64_t bytes = 0;
        std::uint32_t object = 0;
    };
    struct Entry {
        pid_t pid = 0;
        State before{};
        std::uint32_t count = 0;  ///< number of contents
        std::array<Content, kMostGpus> contents{};
    };
    struct Page {
        std::uint32_t count = 0;
        std::array<Entry, kMost> processes{};
    };
    [[nodiscard]] Page& page() const noexcept;

    Mapping memory_;
};

}  // namespace criu::cuda
