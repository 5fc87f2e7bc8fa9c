// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <functional>

#include <fmt/format.h>

namespace criu {

/// Number with one meaning. `Tag` is a type that no other StrongId uses, so that the compiler refuses to mix different
/// ids.
template <typename Tag, typename Number>
struct StrongId {
    Number value{};

    constexpr StrongId() noexcept = default;
    explicit constexpr StrongId(Number number) noexcept : value(number) {}
    friend constexpr auto operator<=>(StrongId, StrongId) noexcept = default;
    /// Returns false for 0, which means that there is no id.
    explicit constexpr operator bool() const noexcept { return value != Number{}; }
};

/// Id of one open file description in a set of images. Ids count from 1 in files.img, across all fd kinds.
using FileId = StrongId<struct FileIdTag, std::uint32_t>;

/// Id of a process, thread, process group or session in the pid namespace of the tree's root; 0 means none. Images and
/// plans contain such ids. A restored process passes them to system calls in that namespace.
/// model::NestedPids has the ids in nested pid namespaces. engine::PidMap (in a restore) and model::TreePids (in a
/// dump) translate between TreePid and HostPid.
using TreePid = StrongId<struct TreePidTag, pid_t>;

/// Id of a process, thread, process group or session in criu's pid namespace; 0 means none. criu passes only such ids
/// to ptrace(2), kill(2) and /proc.
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
