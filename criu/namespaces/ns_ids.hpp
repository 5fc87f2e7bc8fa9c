// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

#include "criu/kernel/proc/proc_ns.hpp"
#include "images/core.fwd.hpp"

namespace criu::namespaces {

/// Extension name in the inventory. It means that processes are in several namespaces of a kind, although CRIU 4.2 can
/// restore only one.
inline constexpr const char* kNonRootNsExtension = "further-namespaces";
/// Extension name in the inventory. It means that processes are in nested pid namespaces, and so have additional pids.
inline constexpr const char* kNestedPidNamespaces = "nested-pid-namespaces";

/// Order in which kinds get namespace ids. The ids are unique over all kinds. Ids of criu's namespaces come first, and
/// begin with 1.
inline constexpr kernel::NamespaceKind kNsIdOrder[] = {
    kernel::NamespaceKind::Pid,  kernel::NamespaceKind::Net,    kernel::NamespaceKind::Ipc,
    kernel::NamespaceKind::Uts,  kernel::NamespaceKind::Time,   kernel::NamespaceKind::Mount,
    kernel::NamespaceKind::User, kernel::NamespaceKind::Cgroup,
};

/// Namespace ids that a dump assigns: to criu's namespaces, and to namespaces of the tree that aren't criu's.
class ImageNsIds {
public:
    /// `criu` and `root`: inodes of the namespaces of criu and of the root.
    ImageNsIds(const kernel::NamespaceIds& criu, const kernel::NamespaceIds& root);

    /// Returns true if the tree has a private namespace of this kind.
    [[nodiscard]] bool isOwn(kernel::NamespaceKind kind) const { return own_.test(static_cast<std::size_t>(kind)); }

    /// Returns an unused namespace id for a non-root namespace.
    [[nodiscard]] std::uint32_t addOther() noexcept { return 2 * kernel::kNamespaceKinds + ++others_; }

    [[nodiscard]] std::uint32_t ofCriu(kernel::NamespaceKind kind) const;
    [[nodiscard]] std::uint32_t ofTree(kernel::NamespaceKind kind) const;

    void storeCriu(TaskKobjIdsEntry& ids) const;

private:
    std::bitset<kernel::kNamespaceKinds> own_;
    std::uint32_t others_ = 0;
};

/// Namespace kinds of which the dumped tree had a private namespace, according to the images.
class OwnNamespaces {
public:
    /// `outside` and `tree`: namespace ids of criu and of the tree. Old images have none: if one of both is null, no
    /// kind counts as private.
    OwnNamespaces(const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree) noexcept;

    [[nodiscard]] bool has(kernel::NamespaceKind kind) const { return own_.test(static_cast<std::size_t>(kind)); }

private:
    std::bitset<kernel::kNamespaceKinds> own_;
};

/// Stores the namespace id of a kind in an image message.
void storeNumber(TaskKobjIdsEntry& ids, kernel::NamespaceKind kind, std::uint32_t number) noexcept;

/// Returns the namespace id of a kind in an image message, or nullopt if the message lacks it.
[[nodiscard]] std::optional<std::uint32_t> numberOf(const TaskKobjIdsEntry& ids, kernel::NamespaceKind kind) noexcept;

/// Returns the namespace id of the tree's private namespace of a kind. Returns 0 if the tree was in criu's namespace,
/// or if the images lack the ids. `outside` and `tree`: namespace ids of criu and of the tree; may be null.
[[nodiscard]] std::uint32_t ownNumberOf(const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree,
                                        kernel::NamespaceKind kind) noexcept;

}  // namespace criu::namespaces
