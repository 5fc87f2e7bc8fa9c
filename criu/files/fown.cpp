// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/fown.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <compel/unique_fd.hpp>

#include <optional>

#include "criu/base/error.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/kernel/fsuid_scope.hpp"
#include "images/fown.hpp"

namespace criu::files {
namespace {

// F_GETOWNER_UIDS of <linux/fcntl.h>. This header and libc's can't both be included.
constexpr int kGetOwnerUids = 17;

}  // namespace

FownEntry* readOwner(int fd, Arena& arena) {
    auto* const entry = arena.make<FownEntry>();
    f_owner_ex owner{};
    if (::fcntl(fd, F_GETOWN_EX, &owner) < 0) {
        if (errno == EBADF)  // the descriptor is O_PATH
            return entry;
        failErrno("read the signal owner of a file");
    }
    if (owner.pid == 0)
        return entry;
    uid_t uids[2] = {};
    sys(::fcntl(fd, kGetOwnerUids, uids), "read the uids of a file's signal owner");
    const int signal = sys(::fcntl(fd, F_GETSIG, 0), "read the signal of a file");
    entry->uid = uids[0];
    entry->euid = uids[1];
    entry->signum = static_cast<std::uint32_t>(signal);
    entry->pid_type = static_cast<std::uint32_t>(owner.type);
    entry->pid = static_cast<std::uint32_t>(owner.pid);
    return entry;
}

void translateOwner(FownEntry& owner, const model::IdMap& ids, const model::TreePids& pids) {
    if (owner.pid == 0)
        return;
    const TreePid pid = pids.inside(HostPid(static_cast<pid_t>(owner.pid)));
    if (!pid) {
        owner.pid = owner.pid_type = owner.signum = owner.uid = owner.euid = 0;
        return;
    }
    owner.pid = static_cast<std::uint32_t>(pid.value);
    owner.uid = ids.innerUid(owner.uid);
    owner.euid = ids.innerUid(owner.euid);
}

FownEntry* FileDump::owner(const OpenFd& file) {
    FownEntry* const owner = readOwner(file.copy.get(), arena());
    translateOwner(*owner, ids(), pids());
    if (owner->pid != 0 && !pids().sees(file.pid, TreePid(static_cast<pid_t>(owner->pid))))
        fail("the signal owner of {} isn't in the pid namespace of the process, which can't be dumped yet",
             file.describe());
    return owner;
}

void FileDump::requireFetchable(FileId id, const std::string& shown) const {
    const std::vector<HostPid> holders = users(id);
    for (const HostPid holder : holders)
        if (!pids().sees(holder, pids().inside(holders.front())))
            fail("{} is also open in process {}, whose pid namespace doesn't see process {}: this can't be dumped yet",
                 shown, holder, holders.front());
}

void restoreSignal(int fd, const FownEntry& owner) {
    if (owner.signum != 0)
        sys(::fcntl(fd, F_SETSIG, owner.signum), "set signal {} of a file", owner.signum);
}

void restoreOwner(int fd, const FownEntry& owner) {
    restoreSignal(fd, owner);
    if (owner.pid == 0)
        return;
    uid_t real = 0;
    uid_t effective = 0;
    uid_t saved = 0;
    sys(::getresuid(&real, &effective, &saved), "read own uids");
    const bool other = owner.uid != real || owner.euid != effective;
    std::optional<kernel::PrctlStateScope> kept;
    if (other) {
        kept.emplace();
        // Doesn't change the saved uid, because the second setresuid(2) is permitted only with it.
        sys(::setresuid(owner.uid, owner.euid, saved), "take uid {} for a file's signal owner", owner.uid);
    }
    const f_owner_ex to{static_cast<decltype(f_owner_ex::type)>(owner.pid_type), static_cast<pid_t>(owner.pid)};
    const int result = ::fcntl(fd, F_SETOWN_EX, &to);
    const int code = errno;
    if (other)
        sys(::setresuid(real, effective, saved), "take back uid {}", real);
    if (result < 0)
        failWith(code, "make process {} the signal owner of a file", owner.pid);
}

}  // namespace criu::files
