// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace criu::kernel {

/// What the kernel resets whenever ids of a process change (prctl(2)): the dumpable flag and the death signal. The
/// destructor puts back what the constructor has found.
class PrctlStateScope {
public:
    PrctlStateScope();
    ~PrctlStateScope();
    PrctlStateScope(const PrctlStateScope&) = delete;
    PrctlStateScope& operator=(const PrctlStateScope&) = delete;

private:
    int deathSignal_ = 0;
    int dumpable_ = 0;
};

/// Runs `work` with another effective user and group, for objects whose creator the kernel records and nobody can set
/// afterwards. The calling thread must be root's; it alone is changed, and back afterwards. Throws Error.
void withEffectiveIds(uid_t user, gid_t group, const std::function<void()>& work);

/// Whom the kernel takes a thread for.
struct Identity {
    uid_t user = 0;   ///< effective
    gid_t group = 0;  ///< effective
    std::vector<gid_t> groups;
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// Runs `work` as somebody else, supplementary groups included, but with the calling thread's own rights on files (file
/// system ids, setfsuid(2)). The thread must be root's; it alone is changed, and back afterwards, PrctlStateScope
/// included. Does nothing of this where it is the same already. Throws Error.
void withIdentity(const Identity& identity, const std::function<void()>& work);

}  // namespace criu::kernel
