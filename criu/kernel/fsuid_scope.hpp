// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace criu::kernel {

/// Scope that saves the dumpable flag and the death signal, and restores both. The kernel resets them when ids of a
/// process change (prctl(2)).
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

/// Runs `work` with another effective user and group. It is for objects whose creator the kernel records permanently.
/// Changes and restores only the calling thread, which must run as root. Throws Error.
void withEffectiveIds(uid_t user, gid_t group, const std::function<void()>& work);

/// Credentials that the kernel records as the creator of an object.
struct Identity {
    uid_t user = 0;   ///< effective uid
    gid_t group = 0;  ///< effective gid
    std::vector<gid_t> groups;
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// Runs `work` with other effective ids and supplementary groups. The file system ids of the thread (setfsuid(2)) stay
/// unchanged. Does nothing but the call if `identity` is the current one.
/// Changes only the calling thread, which must run as root, and restores it afterwards with PrctlStateScope. Throws
/// Error.
void withIdentity(const Identity& identity, const std::function<void()>& work);

}  // namespace criu::kernel
