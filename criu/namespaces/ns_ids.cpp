// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ns_ids.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "images/core.hpp"

namespace criu::namespaces {
namespace {

using kernel::NamespaceKind;

/// Returns the fields of the message for a kind.
std::pair<protobuf_c_boolean*, std::uint32_t*> fieldOf(TaskKobjIdsEntry& ids, NamespaceKind kind) noexcept {
    switch (kind) {
        case NamespaceKind::Pid:
            return {&ids.has_pid_ns_id, &ids.pid_ns_id};
        case NamespaceKind::Net:
            return {&ids.has_net_ns_id, &ids.net_ns_id};
        case NamespaceKind::Ipc:
            return {&ids.has_ipc_ns_id, &ids.ipc_ns_id};
        case NamespaceKind::Uts:
            return {&ids.has_uts_ns_id, &ids.uts_ns_id};
        case NamespaceKind::Time:
            return {&ids.has_time_ns_id, &ids.time_ns_id};
        case NamespaceKind::Mount:
            return {&ids.has_mnt_ns_id, &ids.mnt_ns_id};
        case NamespaceKind::User:
            return {&ids.has_user_ns_id, &ids.user_ns_id};
        case NamespaceKind::Cgroup:
            break;
    }
    return {&ids.has_cgroup_ns_id, &ids.cgroup_ns_id};
}

}  // namespace

void storeNumber(TaskKobjIdsEntry& ids, NamespaceKind kind, std::uint32_t number) noexcept {
    const auto [has, field] = fieldOf(ids, kind);
    *has = 1;
    *field = number;
}

ImageNsIds::ImageNsIds(const kernel::NamespaceIds& criu, const kernel::NamespaceIds& root) {
    for (const NamespaceKind kind : kNsIdOrder)
        own_.set(static_cast<std::size_t>(kind), root.of(kind) != criu.of(kind));
}

std::uint32_t ImageNsIds::ofCriu(NamespaceKind kind) const {
    return static_cast<std::uint32_t>(std::find(std::begin(kNsIdOrder), std::end(kNsIdOrder), kind) -
                                      std::begin(kNsIdOrder) + 1);
}

std::uint32_t ImageNsIds::ofTree(NamespaceKind kind) const {
    if (!isOwn(kind))
        return ofCriu(kind);
    std::uint32_t number = kernel::kNamespaceKinds;
    for (const NamespaceKind other : kNsIdOrder) {
        number += isOwn(other) ? 1 : 0;
        if (other == kind)
            break;
    }
    return number;
}

void ImageNsIds::storeCriu(TaskKobjIdsEntry& ids) const {
    for (const NamespaceKind kind : kNsIdOrder)
        storeNumber(ids, kind, ofCriu(kind));
}

OwnNamespaces::OwnNamespaces(const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree) noexcept {
    if (outside == nullptr || tree == nullptr)
        return;
    for (const NamespaceKind kind : kNsIdOrder) {
        const auto there = numberOf(*outside, kind);
        const auto own = numberOf(*tree, kind);
        own_.set(static_cast<std::size_t>(kind), there && own && there != own);
    }
}

std::optional<std::uint32_t> numberOf(const TaskKobjIdsEntry& ids, NamespaceKind kind) noexcept {
    const auto [has, field] = fieldOf(const_cast<TaskKobjIdsEntry&>(ids), kind);
    return *has != 0 ? std::optional(*field) : std::nullopt;
}

std::uint32_t ownNumberOf(const TaskKobjIdsEntry* outside, const TaskKobjIdsEntry* tree, NamespaceKind kind) noexcept {
    const auto of = tree != nullptr ? numberOf(*tree, kind) : std::nullopt;
    const auto criu = outside != nullptr ? numberOf(*outside, kind) : std::nullopt;
    return of && criu && *of != *criu ? *of : 0;
}

}  // namespace criu::namespaces
