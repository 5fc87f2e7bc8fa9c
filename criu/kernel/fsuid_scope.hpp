// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <functional>
#include <vector>

namespace criu::kernel {

/// Scope that restores the dumpable flag and the death signal at its end, because the kernel resets both when ids of a
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

/// Runs `work` with another effective user and group. Needed to create objects whose creator the kernel records
/// permanently. Changes only the calling thread, which must run as root, and then restores its ids. Throws Error.
void withEffectiveIds(uid_t user, gid_t group, const std::function<void()>& work);

/// Credentials that the kernel records as the creator of an object.
struct Identity {
    uid_t user = 0;   ///< effective uid
    gid_t group = 0;  ///< effective gid
    std::vector<gid_t> groups;
    friend bool operator==(const Identity&, const Identity&) = default;
};

/// Runs `work` with the effective ids and supplementary groups of `identity`. The file system ids of the thread
/// (setfsuid(2)) stay unchanged. If `identity` equals the current credentials, only calls `work`. Changes only the
/// calling thread, which must run as root, and restores it afterwards with PrctlStateScope. Throws Error.
void withIdentity(const Identity& identity, const std::function<void()>& work);

}  // namespace criu::kernel
