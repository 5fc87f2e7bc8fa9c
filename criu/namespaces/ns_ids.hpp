// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

#include "criu/kernel/proc/proc_ns.hpp"
#include "images/core.fwd.hpp"

namespace criu::namespaces {

/// InventoryEntry.extensions: processes are in several namespaces of a kind of which CRIU 4.2 restores one only.
inline constexpr const char* kNonRootNsExtension = "further-namespaces";
/// Likewise: processes are in pid namespaces below that of the root of the tree, and have numbers there, too.
inline constexpr const char* kNestedPidNamespaces = "nested-pid-namespaces";

/// Images number namespaces by one count over all kinds; those of criu come first, in this order, from 1.
inline constexpr kernel::NamespaceKind kNsIdOrder[] = {
    kernel::NamespaceKind::Pid,  kernel::NamespaceKind::Net,    kernel::NamespaceKind::Ipc,
    kernel::NamespaceKind::Uts,  kernel::NamespaceKind::Time,   kernel::NamespaceKind::Mount,
    kernel::NamespaceKind::User, kernel::NamespaceKind::Cgroup,
};

/// The numbers that a dump gives to namespaces: to those of criu, and, where these are others, to those of the tree.
class ImageNsIds {
public:
    /// `criu` and `root`: the namespaces that criu and the root of the tree are in.
    ImageNsIds(const kernel::NamespaceIds& criu, const kernel::NamespaceIds& root);

    /// Whether the tree has a namespace of this kind for itself.
    [[nodiscard]] bool isOwn(kernel::NamespaceKind kind) const { return own_.test(static_cast<std::size_t>(kind)); }

    /// A number for a further one, which isn't the root's.
    [[nodiscard]] std::uint32_t addOther() noexcept { return 2 * kernel::kNamespaceKinds + ++others_; }

    [[nodiscard]] std::uint32_t ofCriu(kernel::NamespaceKind kind) const;
    [[nodiscard]] std::uint32_t ofTree(kernel::NamespaceKind kind) const;

    void storeCriu(TaskKobjIdsEntry& ids) const;

private:
    std::bitset<kernel::kNamespaceKinds> own_;
    std::uint32_t others_ = 0;
};

/// The kinds of which a dumped tree had a namespace for itself, as its images say.
class OwnNamespaces {
public:
    /// Numbers of criu's and of the tree's namespaces; either may be null, as in old images: then there are none.
    OwnNamespaces(const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree) noexcept;

    [[nodiscard]] bool has(kernel::NamespaceKind kind) const { return own_.test(static_cast<std::size_t>(kind)); }

private:
    std::bitset<kernel::kNamespaceKinds> own_;
};

/// Says in an image which namespace of a kind it is.
void storeNumber(TaskKobjIdsEntry& ids, kernel::NamespaceKind kind, std::uint32_t number) noexcept;

/// The number of one kind in an image; nothing if it doesn't say.
[[nodiscard]] std::optional<std::uint32_t> numberOf(const TaskKobjIdsEntry& ids, kernel::NamespaceKind kind) noexcept;

/// The number of the namespace that the tree had for itself; 0 if that was criu's, or the image doesn't say. `outside`
/// and `tree`: numbers of criu's and the tree's namespaces, may be null.
[[nodiscard]] std::uint32_t ownNumberOf(const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree,
                                        kernel::NamespaceKind kind) noexcept;

}  // namespace criu::namespaces
