// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/file_rights.hpp"

#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

// Invalid id: with it, setfsuid(2) changes nothing and returns the current fsuid.
constexpr auto kAsk = static_cast<uid_t>(-1);

constexpr unsigned bit(unsigned capability) {
    return 1U << capability;
}

/// Capabilities that override file modes; all are in the first word. criu clears them itself, because setfsuid(2) does
/// so only if uid 0 is mapped in the user namespace and SECBIT_NO_SETUID_FIXUP is off.
constexpr unsigned kOfFiles = bit(CAP_CHOWN) | bit(CAP_DAC_OVERRIDE) | bit(CAP_DAC_READ_SEARCH) | bit(CAP_FOWNER) |
                              bit(CAP_FSETID) | bit(CAP_LINUX_IMMUTABLE) | bit(CAP_MKNOD);

// Calls the kernel directly. In the kernel, credentials belong to a thread, but libc's functions would change all
// threads of the process (nptl(7)).
uid_t setUser(uid_t user) noexcept {
    return static_cast<uid_t>(::syscall(SYS_setfsuid, user));
}
gid_t setGroup(gid_t group) noexcept {
    return static_cast<gid_t>(::syscall(SYS_setfsgid, group));
}
bool takeGroups(const std::vector<gid_t>& groups) noexcept {
    return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

}  // namespace

bool FileRights::own(uid_t owner) const noexcept {
    return owner == user || std::find(users.begin(), users.end(), owner) != users.end();
}

std::vector<FileRightsScope::CapabilityWords> FileRightsScope::ownCapabilities() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    sys(static_cast<int>(::syscall(SYS_capget, &header, data.data())), "ask for own capabilities");
    std::vector<CapabilityWords> words;
    for (const __user_cap_data_struct& word : data)
        words.push_back({word.effective, word.permitted, word.inheritable});
    return words;
}

bool FileRightsScope::setCapabilities(const std::vector<CapabilityWords>& words) noexcept {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = {words[i].effective, words[i].permitted, words[i].inheritable};
    return ::syscall(SYS_capset, &header, data.data()) == 0;
}

FileRightsScope::FileRightsScope(const FileRights& rights, std::uint64_t others)
    : capabilities_(ownCapabilities()),
      user_(setUser(kAsk)),
      group_(setGroup(kAsk)),
      parent_(::getppid()),
      dumpable_(::prctl(PR_GET_DUMPABLE)) {
    ::prctl(PR_GET_PDEATHSIG, &deathSignal_);
    groups_.resize(static_cast<std::size_t>(sys(::getgroups(0, nullptr), "count own groups")));
    sys(::getgroups(static_cast<int>(groups_.size()), groups_.data()), "ask for own groups");
    // If the user namespace denies setgroups(2), criu can't set the groups. This is no error if criu itself has no
    // groups.
    if (rights.groups != groups_ && !takeGroups(rights.groups) && !groups_.empty())
        failErrno("take the groups of user {} to open files", rights.user);
    setGroup(rights.group);
    setUser(rights.user);
    std::vector<CapabilityWords> fewer = capabilities_;
    unsigned kept = ~kOfFiles;
    if (rights.ignoresModes)
        kept |= bit(CAP_DAC_OVERRIDE);
    if (rights.readsAll)
        kept |= bit(CAP_DAC_READ_SEARCH);
    fewer.front().effective &= kept & (static_cast<unsigned>(others) | kOfFiles);
    fewer.back().effective &= static_cast<unsigned>(others >> 32);
    if (setUser(kAsk) != rights.user || setGroup(kAsk) != rights.group || !setCapabilities(fewer)) {
        goBack();
        failWith(EPERM, "take the rights of user {} to open files", rights.user);
    }
}

FileRightsScope::~FileRightsScope() {
    goBack();
}

void FileRightsScope::goBack() noexcept {
    setUser(user_);
    setGroup(group_);
    if (setUser(kAsk) != user_ || setGroup(kAsk) != group_ || !setCapabilities(capabilities_))
        ::abort();  // later operations would run with wrong credentials
    takeGroups(groups_);
    // Sets the dumpable flag and the death signal again, because the kernel resets both when the fsuid changes
    // (prctl(2)).
    if (dumpable_ == 1)
        ::prctl(PR_SET_DUMPABLE, 1);
    if (deathSignal_ == 0)
        return;
    ::prctl(PR_SET_PDEATHSIG, deathSignal_);
    if (::getppid() != parent_)
        // The parent has ended while no death signal was set, so criu sends the signal to itself.
        ::kill(::getpid(), deathSignal_);
}

}  // namespace criu::kernel
