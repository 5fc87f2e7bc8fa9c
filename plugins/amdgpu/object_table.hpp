// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>

#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::kernel {
class FdStore;
}

namespace criu::amdgpu {

/// Table of numbers in memory that all restored processes share. One process publishes a number, and other processes
/// wait for it.
class NumberTable {
public:
    /// `wanted`: keys of all numbers. The table must exist before the processes.
    explicit NumberTable(const std::set<std::uint64_t>& wanted);

    [[nodiscard]] bool wants(std::uint64_t key) const { return places_.contains(key); }
    void publish(std::uint64_t key, std::uint64_t number) const;
    /// Waits for a number and returns it. A publisher never waits for readers. Throws Error after a timeout.
    [[nodiscard]] std::uint64_t fetch(std::uint64_t key) const;

private:
    struct Slot {
        std::atomic<std::uint32_t> ready;
        std::uint64_t number;
    };
    [[nodiscard]] Slot& slot(std::uint64_t key) const { return slots_.as<Slot>()[places_.at(key)]; }

    std::map<std::uint64_t, std::size_t> places_;
    Mapping slots_;
};

/// Table of descriptors. One restored process publishes a descriptor, and other processes wait for it. The descriptors
/// are in the descriptor store, because processes can't access processes in other pid namespaces.
class ObjectTable {
public:
    /// `store` must be open in all processes that publish or fetch descriptors.
    ObjectTable(const std::set<std::uint64_t>& wanted, const kernel::FdStore* store)
        : numbers_(wanted), store_(store) {}

    [[nodiscard]] bool wants(std::uint64_t object) const { return numbers_.wants(object); }
    /// Publishes a copy of a descriptor. The caller still owns the descriptor and may close it.
    void publish(std::uint64_t object, int fd) const;
    /// Waits for a descriptor. Throws Error after a timeout.
    [[nodiscard]] UniqueFd fetch(std::uint64_t object) const;

private:
    NumberTable numbers_;
    const kernel::FdStore* store_;
};

}  // namespace criu::amdgpu
