// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compare>
#include <cstdint>

#include "criu/base/ids.hpp"

namespace criu::memory {

/// Memory object that pages of a checkpoint belong to.
struct MemoryObject {
    enum class Kind {
        Process,  ///< private memory of a process; pages have addresses
        Shared,   ///< shared memory segment or memfd; pages have offsets
        Files,    ///< files of a tmpfs; a list in the images assigns each a range of addresses
        Device,   ///< buffers of a device; the device's images assign the addresses
    };
    Kind kind = Kind::Process;
    std::uint64_t id = 0;  ///< pid in the process' own pid namespace; for other kinds the image number of the shared
                           ///< memory, file system or device buffers

    static constexpr MemoryObject process(TreePid pid) noexcept {
        return {Kind::Process, static_cast<std::uint64_t>(pid.value)};
    }
    static constexpr MemoryObject shared(std::uint64_t shmid) noexcept { return {Kind::Shared, shmid}; }
    static constexpr MemoryObject files(std::uint64_t device) noexcept { return {Kind::Files, device}; }
    static constexpr MemoryObject device(std::uint64_t number) noexcept { return {Kind::Device, number}; }

    friend constexpr auto operator<=>(const MemoryObject&, const MemoryObject&) noexcept = default;
};

}  // namespace criu::memory
