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

/// A run of ids: user_namespaces(7).
struct IdExtent {
    std::uint32_t inner = 0;  ///< first id in the namespace
    std::uint32_t outer = 0;  ///< its id in criu's namespace
    std::uint32_t count = 0;
    friend bool operator==(const IdExtent&, const IdExtent&) = default;
};

/// The text of /proc/PID/uid_map or gid_map. Throws Error on anything else.
[[nodiscard]] std::vector<IdExtent> parseIdMap(std::string_view text);

/// Where a user namespace stands that is below the one in which a tree is restored. Numbers are those of images.
struct UserNsPosition {
    std::uint32_t owner = 0;           ///< a user of the namespace above
    std::uint32_t parent = 0;          ///< that one; 0: the one in which the tree is restored
    std::vector<std::uint32_t> owned;  ///< namespaces of other kinds that belong to it

    /// Nothing: the image is of another user namespace.
    static std::optional<UserNsPosition> ofImage(const ImageDir& images, std::uint32_t number);
};

/// The ids of users and groups in two user namespaces: "inner" ones of the tree's, which images and the processes
/// themselves use, and "outer" ones of criu's. The same unless the tree has a user namespace of its own.
class IdMap {
public:
    /// Stands for a user or group that has no id in the other namespace. chown(2) and setresuid(2) take this number for
    /// "leave as it is".
    static constexpr std::uint32_t kNone = 0xffffffff;
    /// What processes see instead of ids that have no number in their namespace (kernel.overflowuid).
    static constexpr std::uint32_t kOverflow = 65534;

    /// The same on both sides.
    IdMap() = default;
    IdMap(std::vector<IdExtent> users, std::vector<IdExtent> groups, bool deniesSetgroups = false) noexcept
        : own_(true), deniesSetgroups_(deniesSetgroups), users_(std::move(users)), groups_(std::move(groups)) {}

    /// Of a process in a user namespace below that of criu.
    static IdMap ofProcess(const kernel::ProcPid& process);
    /// As an image says it; `number` is that of the namespace. Throws Error. Where an image doesn't say whether
    /// setgroups(2) is denied, as those of CRIU 4.2, it is if there is one group only: such a map may have been written
    /// by a user without rights, and then it is.
    static IdMap ofImage(const ImageDir& images, std::uint32_t number);
    /// `place`: of a namespace below that in which a tree is restored; null: it isn't such a one.
    void write(const ImageDir& images, std::uint32_t number, const UserNsPosition* place = nullptr) const;

    /// The same map, whose outer ids are those of a namespace between criu's and this one, of which `above` is.
    [[nodiscard]] IdMap seenFrom(const IdMap& above) const;

    [[nodiscard]] bool isOwnNamespace() const noexcept { return own_; }
    /// Nobody in the namespace may change his groups, so that nobody leaves one that keeps him from something
    /// (user_namespaces(7), /proc/PID/setgroups).
    [[nodiscard]] bool deniesSetgroups() const noexcept { return deniesSetgroups_; }

    /// kNone for those without a number.
    [[nodiscard]] std::uint32_t innerUid(std::uint32_t outer) const noexcept;
    [[nodiscard]] std::uint32_t innerGid(std::uint32_t outer) const noexcept;
    [[nodiscard]] std::uint32_t outerUid(std::uint32_t inner) const noexcept;
    [[nodiscard]] std::uint32_t outerGid(std::uint32_t inner) const noexcept;

    /// Throw Error for those without a number; `what` has it: "the saved uid of thread 7".
    [[nodiscard]] std::uint32_t needInnerUid(std::uint32_t outer, std::string_view what) const;
    [[nodiscard]] std::uint32_t needInnerGid(std::uint32_t outer, std::string_view what) const;

    /// What a process of the tree sees.
    [[nodiscard]] std::uint32_t seenUid(std::uint32_t outer) const noexcept;
    [[nodiscard]] std::uint32_t seenGid(std::uint32_t outer) const noexcept;

    /// The user and group that processes are restored as until they get their own: 0, or the first there is. kNone if
    /// the namespace has none at all.
    [[nodiscard]] std::uint32_t firstUid() const noexcept;
    [[nodiscard]] std::uint32_t firstGid() const noexcept;

    /// For uid_map and gid_map of a new namespace: the maps as text, "" if there is none.
    [[nodiscard]] std::string uidText() const;
    [[nodiscard]] std::string gidText() const;

private:
    bool own_ = false;
    bool deniesSetgroups_ = false;
    std::vector<IdExtent> users_;
    std::vector<IdExtent> groups_;
};

}  // namespace criu::model
