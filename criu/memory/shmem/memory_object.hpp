// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compare>
#include <cstdint>

#include "criu/base/ids.hpp"

namespace criu::memory {

/// What pages of a checkpoint belong to.
struct MemoryObject {
    enum class Kind {
        Process,  ///< the private memory of a process; pages are found by address
        Shared,   ///< a segment of shared memory, a memfd; pages are found by offset
        Files,    ///< the files of a tmpfs; each has a range of addresses, which a list in the images gives it
        Device,   ///< buffers of a device; the images of its driver say which addresses are whose
    };
    Kind kind = Kind::Process;
    std::uint64_t id = 0;  ///< the process' pid as it sees itself; the number of the shared memory, of the file system,
                           ///< or of the device's buffers, in the images

    static constexpr MemoryObject process(TreePid pid) noexcept {
        return {Kind::Process, static_cast<std::uint64_t>(pid.value)};
    }
    static constexpr MemoryObject shared(std::uint64_t shmid) noexcept { return {Kind::Shared, shmid}; }
    static constexpr MemoryObject files(std::uint64_t device) noexcept { return {Kind::Files, device}; }
    static constexpr MemoryObject device(std::uint64_t number) noexcept { return {Kind::Device, number}; }

    friend constexpr auto operator<=>(const MemoryObject&, const MemoryObject&) noexcept = default;
};

}  // namespace criu::memory
