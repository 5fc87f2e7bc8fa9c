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

/// Range of ids in the map of a user namespace (user_namespaces(7)).
struct IdExtent {
    std::uint32_t inner = 0;  ///< first id in the user namespace
    std::uint32_t outer = 0;  ///< first id in criu's user namespace
    std::uint32_t count = 0;
    friend bool operator==(const IdExtent&, const IdExtent&) = default;
};

/// Parses /proc/PID/uid_map or gid_map. Throws Error on malformed text.
[[nodiscard]] std::vector<IdExtent> parseIdMap(std::string_view text);

/// Position of a nested user namespace. Numbers of namespaces are namespace ids of the images.
struct UserNsPosition {
    std::uint32_t owner = 0;   ///< uid of the owner, in the parent namespace
    std::uint32_t parent = 0;  ///< id of the parent namespace; 0 for the user namespace in which criu restores the tree
    std::vector<std::uint32_t> owned;  ///< ids of the namespaces of other kinds that this user namespace owns

    /// Reads the position from images; nullopt if the namespace isn't nested.
    static std::optional<UserNsPosition> ofImage(const ImageDir& images, std::uint32_t number);
};

/// Maps of uids and gids between two user namespaces. Inner ids are ids in the tree's namespace, and outer ids are ids
/// in criu's namespace. Images and tasks use inner ids. If the tree has no private user namespace, both are equal.
class IdMap {
public:
    /// Result for an id without a mapping. chown(2) and setresuid(2) don't change an id if they get this number.
    static constexpr std::uint32_t kNone = 0xffffffff;
    /// Id that the kernel shows for unmapped ids (kernel.overflowuid).
    static constexpr std::uint32_t kOverflow = 65534;

    /// Makes a map in which each id maps to itself.
    IdMap() = default;
    IdMap(std::vector<IdExtent> users, std::vector<IdExtent> groups, bool deniesSetgroups = false) noexcept
        : own_(true), deniesSetgroups_(deniesSetgroups), users_(std::move(users)), groups_(std::move(groups)) {}

    /// Reads the map of a process that is in a user namespace below criu's.
    static IdMap ofProcess(const kernel::ProcPid& process);
    /// Reads the map of namespace `number` from images. Throws Error. Images of CRIU 4.2 don't show whether
    /// setgroups(2) is denied. For such images, criu assumes a denial if the map has only one gid: a user without
    /// privileges may have written this map, and the kernel requires that such a user denies setgroups(2) first
    /// (new_idmap_permitted()).
    static IdMap ofImage(const ImageDir& images, std::uint32_t number);
    /// Writes the map to images. `place`: position of a nested user namespace; nullptr for other user namespaces.
    void write(const ImageDir& images, std::uint32_t number, const UserNsPosition* place = nullptr) const;

    /// Returns this map with outer ids of another user namespace, which is between criu's namespace and this one.
    /// `above`: map of that other namespace.
    [[nodiscard]] IdMap seenFrom(const IdMap& above) const;

    [[nodiscard]] bool isOwnNamespace() const noexcept { return own_; }
    /// Returns true if processes of the namespace can't call setgroups(2). So they can't leave a group that restricts
    /// their access (user_namespaces(7), /proc/PID/setgroups).
    [[nodiscard]] bool deniesSetgroups() const noexcept { return deniesSetgroups_; }

    /// Translates an id; returns kNone if the id is unmapped.
    [[nodiscard]] std::uint32_t innerUid(std::uint32_t outer) const noexcept;
    [[nodiscard]] std::uint32_t innerGid(std::uint32_t outer) const noexcept;
    [[nodiscard]] std::uint32_t outerUid(std::uint32_t inner) const noexcept;
    [[nodiscard]] std::uint32_t outerGid(std::uint32_t inner) const noexcept;

    /// Translates an id; throws Error if the id is unmapped. `what` is the subject of the message, for instance "the
    /// saved uid of thread 7".
    [[nodiscard]] std::uint32_t needInnerUid(std::uint32_t outer, std::string_view what) const;
    [[nodiscard]] std::uint32_t needInnerGid(std::uint32_t outer, std::string_view what) const;

    /// Returns the id that a process of the tree sees; kOverflow if the id is unmapped.
    [[nodiscard]] std::uint32_t seenUid(std::uint32_t outer) const noexcept;
    [[nodiscard]] std::uint32_t seenGid(std::uint32_t outer) const noexcept;

    /// Returns the id that a restored process has before it gets its dumped credentials: 0, or the first mapped id.
    /// Returns kNone if the namespace maps no id.
    [[nodiscard]] std::uint32_t firstUid() const noexcept;
    [[nodiscard]] std::uint32_t firstGid() const noexcept;

    /// Returns the text to write to uid_map of a new namespace; "" if the namespace has no map.
    [[nodiscard]] std::string uidText() const;
    [[nodiscard]] std::string gidText() const;

private:
    bool own_ = false;
    bool deniesSetgroups_ = false;
    std::vector<IdExtent> users_;
    std::vector<IdExtent> groups_;
};

}  // namespace criu::model
