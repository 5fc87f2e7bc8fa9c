// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compare>
#include <cstdint>

#include "criu/base/ids.hpp"

namespace criu::memory {

/// Owner of pages in a checkpoint.
struct MemoryObject {
    enum class Kind {
        Process,  ///< private memory of a process; its pages have addresses
        Shared,   ///< shared memory segment or memfd; its pages have offsets
        Files,    ///< files of a tmpfs; a list in the images assigns a range of addresses to each file
        Device,   ///< buffers of a device; the images of the device contain their addresses
    };
    Kind kind = Kind::Process;
    /// For a process: its pid in the pid namespace of the root process. For other kinds: the image number of the shared
    /// memory, file system or device buffers.
    std::uint64_t id = 0;

    static constexpr MemoryObject process(TreePid pid) noexcept {
        return {Kind::Process, static_cast<std::uint64_t>(pid.value)};
    }
    static constexpr MemoryObject shared(std::uint64_t shmid) noexcept { return {Kind::Shared, shmid}; }
    static constexpr MemoryObject files(std::uint64_t device) noexcept { return {Kind::Files, device}; }
    static constexpr MemoryObject device(std::uint64_t number) noexcept { return {Kind::Device, number}; }

    friend constexpr auto operator<=>(const MemoryObject&, const MemoryObject&) noexcept = default;
};

}  // namespace criu::memory
