// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mm/maps.hpp"

namespace criu::kernel {

/// Mapping, and its flags as the kernel stores them (vm_flags of struct vm_area_struct).
struct RawVma {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint64_t flags = 0;
};

/// Meaning of the bits of vm_flags, whose numbers differ between kernels. Learned from mappings whose flags are known
/// in both forms.
class VmaFlagBits {
public:
    using Sample = std::pair<std::uint64_t, VmFlags>;

    /// Throws Error if a flag of smaps belongs to no bits.
    explicit VmaFlagBits(std::span<const Sample> samples);

    /// Returns the flags of smaps; nullopt if a bit is set whose meaning no sample shows.
    [[nodiscard]] std::optional<VmFlags> decode(std::uint64_t raw) const;

private:
    /// Bits that are set in the same samples, and the flags that smaps shows for these samples.
    struct Group {
        std::uint64_t bits = 0;
        VmFlags flags;
    };
    std::vector<Group> groups_;
};

/// Reader of VmFlags without smaps, for which the kernel counts all pages of a process. A BPF program reads the
/// kernel's list of mappings (Linux 5.12; for one thread Linux 6.1). Needs CAP_BPF and CAP_PERFMON, and types of the
/// kernel (Btf).
class VmaFlagReader {
public:
    /// Loads the program, and learns the bits from mappings of the calling process. Call it while no other thread of
    /// this process maps memory. Throws Error if the kernel refuses this.
    VmaFlagReader();

    /// Adds VmFlags and the page size to mappings that readMaps() has returned for a frozen process. `thread`: a living
    /// thread of the process. Returns false if smaps must be read: a mapping has a flag whose bit isn't known, or huge
    /// pages of hugetlbfs. Throws Error.
    [[nodiscard]] bool addFlags(pid_t thread, std::span<Vma> vmas) const;

private:
    [[nodiscard]] std::vector<RawVma> read(pid_t thread) const;
    [[nodiscard]] std::vector<VmaFlagBits::Sample> samples() const;

    UniqueFd program_;
    std::optional<VmaFlagBits> bits_;
};

}  // namespace criu::kernel
