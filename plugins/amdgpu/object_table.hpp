// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <set>

#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::amdgpu {

/// Buffers that more than one file refers to: whoever has made one says here by which descriptor of which process
/// others get it. In memory that all restored processes share.
class ObjectTable {
public:
    /// `wanted`: the objects there may be. Before processes exist.
    explicit ObjectTable(const std::set<std::uint64_t>& wanted);

    [[nodiscard]] bool wants(std::uint64_t object) const { return places_.contains(object); }
    /// The descriptor must stay open until all processes have what they need.
    void publish(std::uint64_t object, int fd) const;
    /// Waits until it is there. Throws Error if that takes too long.
    [[nodiscard]] UniqueFd fetch(std::uint64_t object) const;

private:
    struct Slot {
        std::atomic<std::uint32_t> ready;
        std::int32_t pid;
        std::int32_t fd;
    };
    [[nodiscard]] Slot& slot(std::uint64_t object) const { return slots_.as<Slot>()[places_.at(object)]; }

    std::map<std::uint64_t, std::size_t> places_;
    Mapping slots_;
};

}  // namespace criu::amdgpu
