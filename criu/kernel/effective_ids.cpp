// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/effective_ids.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

constexpr auto kUnchanged = static_cast<uid_t>(-1);

/// The kernel's credentials belong to a thread; libc's setresuid() would change all threads of the process (nptl(7)).
class EffectiveIds {
public:
    EffectiveIds(uid_t user, gid_t group) : user_(::geteuid()), group_(::getegid()) {
        set(SYS_setresgid, group);
        set(SYS_setresuid, user);
    }
    // Going back is always possible: an effective id may become the real or the saved one again, and those stayed.
    ~EffectiveIds() {
        ::syscall(SYS_setresuid, kUnchanged, user_, kUnchanged);
        ::syscall(SYS_setresgid, kUnchanged, group_, kUnchanged);
    }
    EffectiveIds(const EffectiveIds&) = delete;
    EffectiveIds& operator=(const EffectiveIds&) = delete;

private:
    static void set(long call, unsigned id) {
        sys(static_cast<int>(::syscall(call, kUnchanged, id, kUnchanged)), "take the id {} for a moment", id);
    }

    uid_t user_;
    gid_t group_;
};

}  // namespace

void withEffectiveIds(uid_t user, gid_t group, const std::function<void()>& work) {
    if (user == ::geteuid() && group == ::getegid())
        return work();
    const EffectiveIds taken(user, group);
    work();
}

}  // namespace criu::kernel
