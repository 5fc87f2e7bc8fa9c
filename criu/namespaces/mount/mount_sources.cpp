// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/mount_sources.hpp"

#include <algorithm>

namespace criu::namespaces {

std::string_view commonDirectory(std::string_view one, std::string_view other) {
    const auto same =
        static_cast<std::size_t>(std::mismatch(one.begin(), one.end(), other.begin(), other.end()).first - one.begin());
    std::string_view common;
    for (const PathPrefix& prefix : prefixesOf(one))
        if (prefix.size <= same && (prefix.size == other.size() || other[prefix.size] == '/'))
            common = one.substr(0, prefix.size);
    return common;
}

MountSources::MountSources(std::span<const Mount* const> mounts, const std::function<bool(const Mount&)>& isGiven)
    : isGiven_(isGiven) {
    for (const Mount* const mount : mounts) {
        order_.emplace(mount->id, order_.size());
        const auto [common, fresh] = common_.try_emplace({mount->device, mount->shared}, mount->root);
        if (!fresh)
            common->second = std::string(commonDirectory(common->second, mount->root));
        if (mount->rootDeleted)
            continue;
        Place& place = places_.make(mount->device, mount->root);
        ++place.waiting;
        if (isGiven_(*mount))
            ++place.givenOnes;
    }
}

void MountSources::noteMade(const Mount& mount) {
    if (mount.rootDeleted)
        return;
    Place& place = places_.make(mount.device, mount.root);
    --place.waiting;
    if (isGiven_(mount))
        --place.givenOnes;
    if (place.made == nullptr || order_.at(mount.id) < order_.at(place.made->id))
        place.made = &mount;
}

const Mount* MountSources::find(std::uint32_t device, std::string_view directory) const {
    const Mount* first = nullptr;
    for (const PathPrefix& prefix : prefixesOf(directory)) {
        const Place* const place = places_.find(device, directory, prefix);
        if (place != nullptr && place->made != nullptr &&
            (first == nullptr || order_.at(place->made->id) < order_.at(first->id)))
            first = place->made;
    }
    return first;
}

bool MountSources::isAwaited(const Mount& mount) const {
    const std::vector<PathPrefix> prefixes = prefixesOf(mount.root);
    for (const PathPrefix& prefix : prefixes) {
        const Place* const place = places_.find(mount.device, mount.root, prefix);
        if (place == nullptr)
            continue;
        const bool same = prefix.size == prefixes.back().size && !mount.rootDeleted;
        // Mounts of the same directory could wait for each other. So among them, only mounts that need no source count.
        const std::size_t others = same ? place->givenOnes - (isGiven_(mount) ? 1 : 0) : place->waiting;
        if (others != 0)
            return true;
    }
    return false;
}

std::string MountSources::commonOf(const Mount& mount) const {
    const auto found = common_.find({mount.device, mount.shared});
    return found != common_.end() ? found->second : mount.root;
}

}  // namespace criu::namespaces
