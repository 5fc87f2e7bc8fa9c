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

/// List of processes that a dump has locked or checkpointed, with their states before the dump and their contents.
/// Working process and guardian share the memory of the list: if the working process is killed, the guardian restores
/// the states.
class LockedProcesses {
public:
    LockedProcesses();

    /// Adds a process. Call it before the dump locks or checkpoints the process. `before`: state of the process before
    /// the dump. Does nothing if the list is full.
    void add(HostPid pid, State before) noexcept;
    /// Records that the images contain the device contents of the process. Several threads may call this function at
    /// the same time.
    void store(HostPid pid, std::span<const StoredContent> contents) noexcept;
    /// Removes all processes. Call it when the processes have their previous states again.
    void clear() noexcept;

    struct Process {
        HostPid pid{0};
        State before{};
        /// Contents in images; empty if the contents are in memory of the process or on devices.
        std::vector<StoredContent> contents;
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
        std::uint32_t count = 0;  ///< number of elements of `contents` in use
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
