// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

#include "criu/kernel/proc/proc_ns.hpp"
#include "images/core.fwd.hpp"

namespace criu::namespaces {

/// InventoryEntry.extensions: processes are in several namespaces of a kind of which CRIU 4.2 restores only one.
inline constexpr const char* kNonRootNsExtension = "further-namespaces";
/// InventoryEntry.extensions: processes are in nested pid namespaces and have pids there, too.
inline constexpr const char* kNestedPidNamespaces = "nested-pid-namespaces";

/// Order of kinds in namespace ids. One count covers all kinds; ids of criu's namespaces come first, from 1.
inline constexpr kernel::NamespaceKind kNsIdOrder[] = {
    kernel::NamespaceKind::Pid,  kernel::NamespaceKind::Net,    kernel::NamespaceKind::Ipc,
    kernel::NamespaceKind::Uts,  kernel::NamespaceKind::Time,   kernel::NamespaceKind::Mount,
    kernel::NamespaceKind::User, kernel::NamespaceKind::Cgroup,
};

/// Namespace ids that a dump assigns: to criu's namespaces, and to those of the tree that differ from them.
class ImageNsIds {
public:
    /// `criu` and `root`: the namespaces that criu and the root are in.
    ImageNsIds(const kernel::NamespaceIds& criu, const kernel::NamespaceIds& root);

    /// True if the tree has a private namespace of this kind.
    [[nodiscard]] bool isOwn(kernel::NamespaceKind kind) const { return own_.test(static_cast<std::size_t>(kind)); }

    /// Returns a new namespace id for a non-root namespace.
    [[nodiscard]] std::uint32_t addOther() noexcept { return 2 * kernel::kNamespaceKinds + ++others_; }

    [[nodiscard]] std::uint32_t ofCriu(kernel::NamespaceKind kind) const;
    [[nodiscard]] std::uint32_t ofTree(kernel::NamespaceKind kind) const;

    void storeCriu(TaskKobjIdsEntry& ids) const;

private:
    std::bitset<kernel::kNamespaceKinds> own_;
    std::uint32_t others_ = 0;
};

/// The kinds of which a dumped tree had a private namespace, according to its images.
class OwnNamespaces {
public:
    /// Namespace ids of criu and of the tree. Old images have none: if either is null, no kind counts as private.
    OwnNamespaces(const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree) noexcept;

    [[nodiscard]] bool has(kernel::NamespaceKind kind) const { return own_.test(static_cast<std::size_t>(kind)); }

private:
    std::bitset<kernel::kNamespaceKinds> own_;
};

/// Stores the namespace id of a kind in an image.
void storeNumber(TaskKobjIdsEntry& ids, kernel::NamespaceKind kind, std::uint32_t number) noexcept;

/// Returns the namespace id of one kind in an image; empty if the image lacks it.
[[nodiscard]] std::optional<std::uint32_t> numberOf(const TaskKobjIdsEntry& ids, kernel::NamespaceKind kind) noexcept;

/// Returns the namespace id of the tree's private namespace. 0 if the tree was in criu's, or if the image doesn't say.
/// `outside` and `tree`: namespace ids of criu and the tree, may be null.
[[nodiscard]] std::uint32_t ownNumberOf(const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree,
                                        kernel::NamespaceKind kind) noexcept;

}  // namespace criu::namespaces
