// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc_owner.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <limits>

#include "criu/base/error.hpp"

namespace criu::namespaces {
namespace {

constexpr auto kKeep = static_cast<uid_t>(-1);

/// By the kernel's calls: those of libc change all threads.
class EffectiveIds {
public:
    EffectiveIds(uid_t user, gid_t group) : user_(::geteuid()), group_(::getegid()) {
        set(SYS_setresgid, group);
        set(SYS_setresuid, user);
    }
    // Going back is always possible: the real ids are unchanged.
    ~EffectiveIds() {
        ::syscall(SYS_setresuid, kKeep, user_, kKeep);
        ::syscall(SYS_setresgid, kKeep, group_, kKeep);
    }
    EffectiveIds(const EffectiveIds&) = delete;
    EffectiveIds& operator=(const EffectiveIds&) = delete;

private:
    static void set(long call, unsigned id) {
        sys(static_cast<int>(::syscall(call, kKeep, id, kKeep)), "take the id {} for a moment", id);
    }

    uid_t user_;
    gid_t group_;
};

}  // namespace

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

void asCreator(const IpcDescEntry& desc, const std::function<void()>& work) {
    if (desc.cuid == ::geteuid() && desc.cgid == ::getegid())
        return work();
    const EffectiveIds creator(desc.cuid, desc.cgid);
    work();
}

}  // namespace criu::namespaces
