// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace criu::kernel {
class ProcPid;
}

namespace criu {
class ImageDir;
}

namespace criu::model {

/// A range of ids in a user namespace: user_namespaces(7).
struct IdExtent {
    std::uint32_t inner = 0;  ///< first id in the namespace
    std::uint32_t outer = 0;  ///< first id in criu's namespace
    std::uint32_t count = 0;
    friend bool operator==(const IdExtent&, const IdExtent&) = default;
};

/// Parses /proc/PID/uid_map or gid_map. Throws Error for other text.
[[nodiscard]] std::vector<IdExtent> parseIdMap(std::string_view text);

/// Position of a nested user namespace. Ids of namespaces are those of images.
struct UserNsPosition {
    std::uint32_t owner = 0;           ///< uid in the parent namespace
    std::uint32_t parent = 0;          ///< parent namespace; 0: the one in which the tree is restored
    std::vector<std::uint32_t> owned;  ///< namespaces of other kinds that belong to it

    /// Reads the position from images; returns nothing if the namespace isn't nested.
    static std::optional<UserNsPosition> ofImage(const ImageDir& images, std::uint32_t number);
};

/// Maps of uids and gids between two user namespaces. Inner ids are those of the tree's namespace, which images and
/// tasks use; outer ids are those of criu's. Both are equal unless the tree has a private user namespace.
class IdMap {
public:
    /// Stands for an id that the other namespace doesn't map. chown(2) and setresuid(2) take this number as "no
    /// change".
    static constexpr std::uint32_t kNone = 0xffffffff;
    /// The id that the kernel shows for unmapped ids (kernel.overflowuid).
    static constexpr std::uint32_t kOverflow = 65534;

    /// Maps all ids to themselves.
    IdMap() = default;
    IdMap(std::vector<IdExtent> users, std::vector<IdExtent> groups, bool deniesSetgroups = false) noexcept
        : own_(true), deniesSetgroups_(deniesSetgroups), users_(std::move(users)), groups_(std::move(groups)) {}

    /// Reads the map of a process in a user namespace below criu's.
    static IdMap ofProcess(const kernel::ProcPid& process);
    /// Reads the map of namespace `number` from images. Throws Error. Images of CRIU 4.2 don't say if setgroups(2)
    /// is denied. Then it counts as denied if only one gid is mapped. A user without privileges may have written
    /// such a map, and the kernel requires such a user to deny setgroups(2) first (new_idmap_permitted()).
    static IdMap ofImage(const ImageDir& images, std::uint32_t number);
    /// Writes the map to images. `place` is the position of a nested user namespace; null for others.
    void write(const ImageDir& images, std::uint32_t number, const UserNsPosition* place = nullptr) const;

    /// Returns the same map with outer ids of a namespace between criu's and this one, whose map is `above`.
    [[nodiscard]] IdMap seenFrom(const IdMap& above) const;

    [[nodiscard]] bool isOwnNamespace() const noexcept { return own_; }
    /// True if processes of the namespace can't call setgroups(2), so that they can't drop a group that restricts
    /// them (user_namespaces(7), /proc/PID/setgroups).
    [[nodiscard]] bool deniesSetgroups() const noexcept { return deniesSetgroups_; }

    /// Translate ids; return kNone for unmapped ones.
    [[nodiscard]] std::uint32_t innerUid(std::uint32_t outer) const noexcept;
    [[nodiscard]] std::uint32_t innerGid(std::uint32_t outer) const noexcept;
    [[nodiscard]] std::uint32_t outerUid(std::uint32_t inner) const noexcept;
    [[nodiscard]] std::uint32_t outerGid(std::uint32_t inner) const noexcept;

    /// Translate ids; throw Error for unmapped ones. `what` is the subject of the message, for instance "the saved
    /// uid of thread 7".
    [[nodiscard]] std::uint32_t needInnerUid(std::uint32_t outer, std::string_view what) const;
    [[nodiscard]] std::uint32_t needInnerGid(std::uint32_t outer, std::string_view what) const;

    /// Return the id that a process of the tree sees.
    [[nodiscard]] std::uint32_t seenUid(std::uint32_t outer) const noexcept;
    [[nodiscard]] std::uint32_t seenGid(std::uint32_t outer) const noexcept;

    /// Return the ids of restored processes before they get their own: 0, or the first mapped id. Return kNone if
    /// the namespace maps none.
    [[nodiscard]] std::uint32_t firstUid() const noexcept;
    [[nodiscard]] std::uint32_t firstGid() const noexcept;

    /// Return the maps as text for uid_map and gid_map of a new namespace; "" without a map.
    [[nodiscard]] std::string uidText() const;
    [[nodiscard]] std::string gidText() const;

private:
    bool own_ = false;
    bool deniesSetgroups_ = false;
    std::vector<IdExtent> users_;
    std::vector<IdExtent> groups_;
};

}  // namespace criu::model
