// SPDX-License-Identifier: GPL-2.0-only
#include "criu/model/ipc_owner.hpp"

#include <unistd.h>

#include <limits>

#include "criu/base/error.hpp"
#include "images/ipc-desc.hpp"

namespace criu::model {
IpcDescEntry describeIpc(int id, const ipc_perm& permissions) noexcept {
    IpcDescEntry desc = IPC_DESC_ENTRY__INIT;
    desc.key = static_cast<std::uint32_t>(permissions.__key);
    desc.uid = permissions.uid;
    desc.gid = permissions.gid;
    desc.cuid = permissions.cuid;
    desc.cgid = permissions.cgid;
    desc.mode = permissions.mode;
    desc.id = static_cast<std::uint32_t>(id);
    return desc;
}

void toInside(IpcDescEntry& desc, const IdMap& ids) noexcept {
    desc.uid = ids.innerUid(desc.uid);
    desc.gid = ids.innerGid(desc.gid);
    desc.cuid = ids.innerUid(desc.cuid);
    desc.cgid = ids.innerGid(desc.cgid);
}

void toOutside(IpcDescEntry& desc, const IdMap& ids) noexcept {
    if (!ids.isOwnNamespace())
        return;
    const auto orOwn = [](std::uint32_t id, std::uint32_t own) { return id == IdMap::kNone ? own : id; };
    desc.uid = orOwn(ids.outerUid(desc.uid), ::geteuid());
    desc.gid = orOwn(ids.outerGid(desc.gid), ::getegid());
    desc.cuid = orOwn(ids.outerUid(desc.cuid), ::geteuid());
    desc.cgid = orOwn(ids.outerGid(desc.cgid), ::getegid());
}

void requireIpcDesc(const IpcDescEntry& desc, const char* what) {
    if (desc.id > static_cast<std::uint32_t>(std::numeric_limits<int>::max()))
        fail("{} can't have the id {}", what, desc.id);
}

}  // namespace criu::model
