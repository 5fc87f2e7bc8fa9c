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

/// Which processes a dump has locked or checkpointed, the state they are to have again, and where their contents are,
/// in memory that the process which dumps shares with the one that watches it: to be known when the former is killed.
class LockedProcesses {
public:
    LockedProcesses();

    /// Before the process is locked or checkpointed for the first time. `before`: its state then. What finds no room
    /// isn't remembered.
    void add(HostPid pid, State before) noexcept;
    /// What the process had on devices is in pages of the images. For several threads at once.
    void store(HostPid pid, std::span<const StoredContent> contents) noexcept;
    /// All are as they were.
    void clear() noexcept;

    struct Process {
        HostPid pid{0};
        State before{};
        std::vector<StoredContent> contents;  ///< none: in memory of the process, or still on devices
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
        std::uint32_t count = 0;  ///< of contents
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
