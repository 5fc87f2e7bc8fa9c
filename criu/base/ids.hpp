// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

namespace criu {

/// A number with one meaning. Tag is a type that no other StrongId uses.
template <typename Tag, typename Number>
struct StrongId {
    Number value{};

    constexpr StrongId() noexcept = default;
    explicit constexpr StrongId(Number number) noexcept : value(number) {}
    friend constexpr auto operator<=>(StrongId, StrongId) noexcept = default;
    /// False for zero, which means none.
    explicit constexpr operator bool() const noexcept { return value != Number{}; }
};

/// Identifies one open file description in a set of images: files.img counts from 1 over all fd kinds.
using FileId = StrongId<struct FileIdTag, std::uint32_t>;

/// Id of a process, thread, process group or session in the pid namespace of the tree's root. Images and plans store
/// these. A restored process passes them to system calls in that namespace; for nested pid namespaces,
/// model::NestedPids has the ids. engine::PidMap (restore) and model::TreePids (dump) translate. Zero means none.
using TreePid = StrongId<struct TreePidTag, pid_t>;

/// Id of a process, thread, process group or session in criu's pid namespace. criu passes only these to ptrace(2),
/// kill(2) and /proc. Zero means none.
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
