// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/fsuid_scope.hpp"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

constexpr auto kUnchanged = static_cast<uid_t>(-1);

/// Scope in which the calling thread has different effective ids. Calls the kernel directly, because libc's setresuid()
/// would change all threads of the process (nptl(7)).
class EffectiveIdScope {
public:
    EffectiveIdScope(uid_t user, gid_t group) : user_(::geteuid()), group_(::getegid()) {
        set(SYS_setresgid, group);
        set(SYS_setresuid, user);
    }
    // Restores the ids. Neither call can fail: a process may always set its effective id to its real or saved id.
    ~EffectiveIdScope() {
        ::syscall(SYS_setresuid, kUnchanged, user_, kUnchanged);
        ::syscall(SYS_setresgid, kUnchanged, group_, kUnchanged);
    }
    EffectiveIdScope(const EffectiveIdScope&) = delete;
    EffectiveIdScope& operator=(const EffectiveIdScope&) = delete;

    static void set(long call, unsigned id) {
        sys(static_cast<int>(::syscall(call, kUnchanged, id, kUnchanged)), "take the id {} for a moment", id);
    }

private:
    const PrctlStateScope kept_;
    uid_t user_;
    gid_t group_;
};

Identity currentIdentity() {
    Identity now{::geteuid(), ::getegid(), {}};
    now.groups.resize(static_cast<std::size_t>(sys(::getgroups(0, nullptr), "count own groups")));
    if (now.groups.empty())
        return now;
    now.groups.resize(static_cast<std::size_t>(
        sys(::getgroups(static_cast<int>(now.groups.size()), now.groups.data()), "read own groups")));
    return now;
}

/// Calls the kernel directly, so that only the calling thread changes. Ignores EPERM: in a user namespace that denies
/// setgroups(2), all processes have the same groups.
void setEffectiveGroups(const std::vector<gid_t>& groups) {
    if (::syscall(SYS_setgroups, groups.size(), groups.data()) < 0 && errno != EPERM)
        failErrno("take {} groups for a moment", groups.size());
}

class IdentityScope {
public:
    IdentityScope(const Identity& now, const Identity& taken) : now_(now) {
        try {
            if (now.groups != taken.groups)
                setEffectiveGroups(taken.groups);
            EffectiveIdScope::set(SYS_setresgid, taken.group);
            EffectiveIdScope::set(SYS_setresuid, taken.user);
            // Ignores the results: setfsuid(2) and setfsgid(2) report no errors, and return the previous id.
            ::syscall(SYS_setfsuid, now.user);
            ::syscall(SYS_setfsgid, now.group);
        } catch (const Error&) {
            giveBack();
            throw;
        }
    }
    ~IdentityScope() { giveBack(); }
    IdentityScope(const IdentityScope&) = delete;
    IdentityScope& operator=(const IdentityScope&) = delete;

private:
    void giveBack() const noexcept {
        ::syscall(SYS_setresuid, kUnchanged, now_.user, kUnchanged);
        ::syscall(SYS_setresgid, kUnchanged, now_.group, kUnchanged);
        ::syscall(SYS_setgroups, now_.groups.size(), now_.groups.data());
    }

    const PrctlStateScope kept_;
    const Identity& now_;
};

}  // namespace

PrctlStateScope::PrctlStateScope() {
    sys(::prctl(PR_GET_PDEATHSIG, &deathSignal_), "read own death signal");
    dumpable_ = sys(::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0), "ask whether criu is dumpable");
}

PrctlStateScope::~PrctlStateScope() {
    ::prctl(PR_SET_PDEATHSIG, deathSignal_, 0, 0, 0);
    if (dumpable_ == 0 || dumpable_ == 1)  // value 2 can't be set: only the kernel may do so
        ::prctl(PR_SET_DUMPABLE, dumpable_, 0, 0, 0);
}

void withIdentity(const Identity& identity, const std::function<void()>& work) {
    const Identity now = currentIdentity();
    if (now == identity)
        return work();
    const IdentityScope taken(now, identity);
    work();
}

void withEffectiveIds(uid_t user, gid_t group, const std::function<void()>& work) {
    if (user == ::geteuid() && group == ::getegid())
        return work();
    const EffectiveIdScope taken(user, group);
    work();
}

}  // namespace criu::kernel
