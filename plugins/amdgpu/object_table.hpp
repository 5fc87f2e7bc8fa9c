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

/// Numbers that one restored process publishes and others wait for, in memory shared by all.
class NumberTable {
public:
    /// `wanted`: keys of all numbers. Must be created before the processes.
    explicit NumberTable(const std::set<std::uint64_t>& wanted);

    [[nodiscard]] bool wants(std::uint64_t key) const { return places_.contains(key); }
    void publish(std::uint64_t key, std::uint64_t number) const;
    /// Waits for a number. Publishers never wait for readers. Throws Error after a timeout.
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

/// Descriptors that one restored process publishes. They go through the descriptor store, since processes in different
/// pid namespaces don't see each other.
class ObjectTable {
public:
    /// `store` must be open in all processes that publish or fetch.
    ObjectTable(const std::set<std::uint64_t>& wanted, const kernel::FdStore* store)
        : numbers_(wanted), store_(store) {}

    [[nodiscard]] bool wants(std::uint64_t object) const { return numbers_.wants(object); }
    /// Publishes a copy; the caller owns the descriptor and may close it.
    void publish(std::uint64_t object, int fd) const;
    /// Waits for a descriptor. Throws Error after a timeout.
    [[nodiscard]] UniqueFd fetch(std::uint64_t object) const;

private:
    NumberTable numbers_;
    const kernel::FdStore* store_;
};

}  // namespace criu::amdgpu
