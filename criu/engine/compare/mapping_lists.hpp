// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "images/mm.hpp"

namespace criu::engine {

/// Copy of the mappings of a process, in ascending order of addresses.
class MappingList {
public:
    /// `memory` must outlive this object.
    explicit MappingList(const MmEntry& memory);
    MappingList(const MappingList&) = delete;
    MappingList& operator=(const MappingList&) = delete;

    /// Returns the memory entry with these mappings.
    [[nodiscard]] const MmEntry& memory();
    [[nodiscard]] const std::deque<VmaEntry>& mappings() const noexcept { return mappings_; }
    /// Returns true if the list has a mapping with the same addresses.
    [[nodiscard]] bool has(const VmaEntry& mapping) const noexcept;

    /// Joins neighbours that differ only by their addresses, as the kernel does when it can.
    void join();
    /// Divides the mapping that contains `address` at this address.
    void divide(std::uint64_t address);

private:
    MmEntry memory_;
    std::deque<VmaEntry> mappings_;
    std::vector<VmaEntry*> pointers_;
};

/// Gives equal mappings of both lists equal borders. The kernel joins neighbours with equal properties only in some
/// orders of system calls, so a restored process may have more or fewer borders between such neighbours.
void splitAlike(MappingList& one, MappingList& other);

}  // namespace criu::engine
