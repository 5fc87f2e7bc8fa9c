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

/// Numbers that one restored process comes to know and others wait for. In memory that all of them share.
class NumberTable {
public:
    /// `wanted`: what there may be numbers of. Before processes exist.
    explicit NumberTable(const std::set<std::uint64_t>& wanted);

    [[nodiscard]] bool wants(std::uint64_t key) const { return places_.contains(key); }
    void publish(std::uint64_t key, std::uint64_t number) const;
    /// Waits until it is there; nobody who publishes waits for who fetches. Throws Error if that takes too long.
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

/// Descriptors, likewise. They go through the restore's store, since processes of the tree may be in pid namespaces in
/// which they don't see each other.
class ObjectTable {
public:
    /// The store has to be open for whoever publishes and fetches.
    ObjectTable(const std::set<std::uint64_t>& wanted, const kernel::FdStore* store)
        : numbers_(wanted), store_(store) {}

    [[nodiscard]] bool wants(std::uint64_t object) const { return numbers_.wants(object); }
    /// The descriptor stays the caller's, and needn't stay open.
    void publish(std::uint64_t object, int fd) const;
    /// Waits until it is there. Throws Error if that takes too long.
    [[nodiscard]] UniqueFd fetch(std::uint64_t object) const;

private:
    NumberTable numbers_;
    const kernel::FdStore* store_;
};

}  // namespace criu::amdgpu
