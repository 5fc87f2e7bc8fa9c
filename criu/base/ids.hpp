// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

namespace criu {

/// A number that means one thing only. Tag is any type used nowhere else.
template <typename Tag, typename Number>
struct StrongId {
    Number value{};

    constexpr StrongId() noexcept = default;
    explicit constexpr StrongId(Number number) noexcept : value(number) {}
    friend constexpr auto operator<=>(StrongId, StrongId) noexcept = default;
    /// False for zero, which stands for nothing.
    explicit constexpr operator bool() const noexcept { return value != Number{}; }
};

/// Identifies one open file description in a set of images (files.img, one counter over all kinds, from 1).
using FileId = StrongId<struct FileIdTag, std::uint32_t>;

/// A process, thread, process group or session as the pid namespace of the tree's root calls it, and so images and
/// plans do; processes of a restore give these numbers to system calls there, those in namespaces below what
/// model::NestedPids says. criu translates by engine::PidMap (restore) or model::TreePids (dump). Zero: none.
using TreePid = StrongId<struct TreePidTag, pid_t>;

/// The same as criu's own pid namespace calls it: what criu may give to ptrace(2), kill(2) and /proc. Zero: none.
using HostPid = StrongId<struct HostPidTag, pid_t>;

}  // namespace criu

template <typename Tag, typename Number>
struct std::hash<criu::StrongId<Tag, Number>> {
    std::size_t operator()(criu::StrongId<Tag, Number> id) const noexcept { return std::hash<Number>{}(id.value); }
};

template <typename Tag, typename Number>
struct fmt::formatter<criu::StrongId<Tag, Number>> : fmt::formatter<Number> {
    template <typename Context>
    auto format(criu::StrongId<Tag, Number> id, Context& context) const {
        return fmt::formatter<Number>::format(id.value, context);
    }
};
