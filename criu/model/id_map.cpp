// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/id_map.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "images/userns.hpp"

namespace criu::model {
namespace {

constexpr std::uint64_t kIds = std::uint64_t{1} << 32;

std::uint32_t translate(std::span<const IdExtent> map, std::uint32_t id, std::uint32_t IdExtent::*from,
                        std::uint32_t IdExtent::*to) noexcept {
    for (const IdExtent& extent : map)
        if (id >= extent.*from && id - extent.*from < extent.count)
            return extent.*to + (id - extent.*from);
    return IdMap::kNone;
}

std::uint32_t inner(bool own, std::span<const IdExtent> map, std::uint32_t id) noexcept {
    return own ? translate(map, id, &IdExtent::outer, &IdExtent::inner) : id;
}

std::uint32_t outer(bool own, std::span<const IdExtent> map, std::uint32_t id) noexcept {
    return own ? translate(map, id, &IdExtent::inner, &IdExtent::outer) : id;
}

std::uint32_t need(std::uint32_t inner, std::uint32_t outer, std::string_view kind, std::string_view what) {
    if (inner == IdMap::kNone && outer != IdMap::kNone) {
        Error error(0, fmt::format("{} is {} {} outside, which has no number in the user namespace of the tree", what,
                                   kind, outer));
        error.addHint("it came in from outside, or its namespace got no id maps (newuidmap, newgidmap)");
        throw error;
    }
    return inner;
}

std::uint32_t seen(std::uint32_t inner) noexcept {
    return inner == IdMap::kNone ? IdMap::kOverflow : inner;
}

std::uint32_t firstOf(bool own, std::span<const IdExtent> map) noexcept {
    if (!own || translate(map, 0, &IdExtent::inner, &IdExtent::inner) == 0)
        return 0;
    return map.empty() ? IdMap::kNone : map.front().inner;
}

std::string textOf(std::span<const IdExtent> map) {
    std::string text;
    for (const IdExtent& extent : map)
        text += fmt::format("{} {} {}\n", extent.inner, extent.outer, extent.count);
    return text;
}

std::vector<IdExtent> extentsOf(UidGidExtent* const* entries, std::size_t count) {
    std::vector<IdExtent> map;
    for (const UidGidExtent* entry : list(entries, count)) {
        if (entry->count == 0 || std::uint64_t{entry->first} + entry->count > kIds ||
            std::uint64_t{entry->lower_first} + entry->count > kIds)
            fail("ids of a user namespace from {} (outside {}) on, {} of them, can't be", entry->first,
                 entry->lower_first, entry->count);
        map.push_back({entry->first, entry->lower_first, entry->count});
    }
    return map;
}

void store(std::span<const IdExtent> map, Arena& arena, UidGidExtent**& entries, std::size_t& count) {
    count = map.size();
    entries = arena.array<UidGidExtent*>(count);
    for (std::size_t i = 0; i < count; ++i) {
        entries[i] = arena.make<UidGidExtent>();
        entries[i]->first = map[i].inner;
        entries[i]->lower_first = map[i].outer;
        entries[i]->count = map[i].count;
    }
}

}  // namespace

std::vector<IdExtent> parseIdMap(std::string_view text) {
    std::vector<IdExtent> map;
    kernel::Scanner scan(text);
    while (!scan.done()) {
        IdExtent& extent = map.emplace_back();
        scan.needNumber(extent.inner, "the first id of a map");
        scan.needNumber(extent.outer, "the first id outside");
        scan.needNumber(extent.count, "the number of ids");
        scan.blanks();
        scan.need('\n', "the end of a line");
    }
    return map;
}

IdMap IdMap::ofProcess(const kernel::ProcPid& process) {
    return {parseIdMap(process.readFile("uid_map")), parseIdMap(process.readFile("gid_map")),
            process.readFile("setgroups").starts_with("deny")};
}

IdMap IdMap::ofImage(const ImageDir& images, std::uint32_t number) {
    const Record<UsernsEntry> entry = images.openRequired(ImageKind::Userns, number).only<UsernsEntry>();
    const ErrorContext context([&] { return imageName(ImageKind::Userns, number); });
    std::vector<IdExtent> groups = extentsOf(entry->gid_map, entry->n_gid_map);
    const bool denied = entry->has_setgroups_denied != 0 ? entry->setgroups_denied != 0
                                                         : groups.size() == 1 && groups.front().count == 1;
    return IdMap(extentsOf(entry->uid_map, entry->n_uid_map), std::move(groups), denied);
}

std::optional<UserNsPosition> UserNsPosition::ofImage(const ImageDir& images, std::uint32_t number) {
    const Record<UsernsEntry> entry = images.openRequired(ImageKind::Userns, number).only<UsernsEntry>();
    if (entry->has_owner == 0)
        return std::nullopt;
    UserNsPosition place;
    place.owner = entry->owner;
    place.parent = entry->has_parent != 0 ? entry->parent : 0;
    place.owned.assign(entry->owned, entry->owned + entry->n_owned);
    return place;
}

IdMap IdMap::seenFrom(const IdMap& above) const {
    // Translates only the first id of an extent, because each extent lies in a single extent of the parent's map
    // (map_write() in kernel/user_namespace.c).
    IdMap map = *this;
    for (IdExtent& extent : map.users_)
        extent.outer = above.needInnerUid(extent.outer, "a user namespace");
    for (IdExtent& extent : map.groups_)
        extent.outer = above.needInnerGid(extent.outer, "a user namespace");
    return map;
}

void IdMap::write(const ImageDir& images, std::uint32_t number, const UserNsPosition* place) const {
    Arena arena;
    UsernsEntry entry = USERNS_ENTRY__INIT;
    store(users_, arena, entry.uid_map, entry.n_uid_map);
    store(groups_, arena, entry.gid_map, entry.n_gid_map);
    entry.has_setgroups_denied = 1;
    entry.setgroups_denied = deniesSetgroups_;
    if (place != nullptr) {
        entry.has_owner = 1;
        entry.owner = place->owner;
        entry.has_parent = place->parent != 0 ? 1 : 0;
        entry.parent = place->parent;
        entry.n_owned = place->owned.size();
        entry.owned = arena.array<std::uint32_t>(place->owned.size());
        std::copy(place->owned.begin(), place->owned.end(), entry.owned);
    }
    ImageWriter image = images.create(ImageKind::Userns, number);
    image.write(entry);
    image.finish();
}

std::uint32_t IdMap::innerUid(std::uint32_t outer) const noexcept {
    return inner(own_, users_, outer);
}

std::uint32_t IdMap::innerGid(std::uint32_t outer) const noexcept {
    return inner(own_, groups_, outer);
}

std::uint32_t IdMap::outerUid(std::uint32_t inner) const noexcept {
    return outer(own_, users_, inner);
}

std::uint32_t IdMap::outerGid(std::uint32_t inner) const noexcept {
    return outer(own_, groups_, inner);
}

std::uint32_t IdMap::needInnerUid(std::uint32_t outer, std::string_view what) const {
    return need(innerUid(outer), outer, "user", what);
}

std::uint32_t IdMap::needInnerGid(std::uint32_t outer, std::string_view what) const {
    return need(innerGid(outer), outer, "group", what);
}

std::uint32_t IdMap::seenUid(std::uint32_t outer) const noexcept {
    return seen(innerUid(outer));
}

std::uint32_t IdMap::seenGid(std::uint32_t outer) const noexcept {
    return seen(innerGid(outer));
}

std::uint32_t IdMap::firstUid() const noexcept {
    return firstOf(own_, users_);
}

std::uint32_t IdMap::firstGid() const noexcept {
    return firstOf(own_, groups_);
}

std::string IdMap::uidText() const {
    return textOf(users_);
}

std::string IdMap::gidText() const {
    return textOf(groups_);
}

}  // namespace criu::model
