// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/credentials.hpp"

#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/ids.hpp"
#include "criu/kernel/capabilities.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/id_map.hpp"
#include "images/core.hpp"

namespace criu::task {
namespace {

constexpr std::size_t kCapabilityWords = _LINUX_CAPABILITY_U32S_3;

/// Highest capability number for which a 64-bit set has a bit.
constexpr unsigned kMaxCapability = 63;

/// Arguments of capset(2) in one object: the header and the sets.
struct KernelCapabilities {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct words[kCapabilityWords]{};
};

void storeSet(std::uint64_t set, Arena& arena, std::uint32_t*& field, std::size_t& count) {
    field = arena.array<std::uint32_t>(kCapabilityWords);
    count = kCapabilityWords;
    field[0] = static_cast<std::uint32_t>(set);
    field[1] = static_cast<std::uint32_t>(set >> 32);
}

std::uint64_t loadSet(const std::uint32_t* words, std::size_t count) {
    std::uint64_t set = 0;
    for (std::size_t i = 0; i < count && i < kCapabilityWords; ++i)
        set |= std::uint64_t{words[i]} << (32 * i);
    return set;
}

void capset(std::uint64_t effective, std::uint64_t permitted, std::uint64_t inheritable, pie::StepList& steps,
            pie::RemoteData& data) {
    KernelCapabilities sets;
    for (std::size_t i = 0; i < kCapabilityWords; ++i) {
        sets.words[i].effective = static_cast<std::uint32_t>(effective >> (32 * i));
        sets.words[i].permitted = static_cast<std::uint32_t>(permitted >> (32 * i));
        sets.words[i].inheritable = static_cast<std::uint32_t>(inheritable >> (32 * i));
    }
    const std::uint64_t header = data.put(sets);
    steps.call(pie::Subject::Capabilities, permitted, SYS_capset, header, header + offsetof(KernelCapabilities, words));
}

Credentials ofStatus(const kernel::TaskStatus& status) {
    Credentials now;
    now.groups.assign(status.groups.begin(), status.groups.end());
    now.uid = status.uid;
    now.gid = status.gid;
    now.inheritable = status.capInheritable;
    now.permitted = status.capPermitted;
    now.effective = status.capEffective;
    now.bounding = status.capBounding;
    now.ambient = status.capAmbient;
    now.noNewPrivileges = status.noNewPrivs.value_or(false);
    return now;
}

/// Returns the credentials with ids of the tree's user namespace.
Credentials inside(Credentials outside, const model::IdMap& ids, HostPid tid) {
    if (!ids.isOwnNamespace())
        return outside;
    Credentials out = std::move(outside);
    const auto user = [&](std::uint32_t& id, std::string_view what) {
        id = ids.needInnerUid(id, fmt::format("the {} uid of thread {}", what, tid));
    };
    const auto group = [&](std::uint32_t& id, std::string_view what) {
        id = ids.needInnerGid(id, fmt::format("the {} of thread {}", what, tid));
    };
    user(out.uid.real, "real");
    user(out.uid.effective, "effective");
    user(out.uid.saved, "saved");
    user(out.uid.filesystem, "file system");
    group(out.gid.real, "real gid");
    group(out.gid.effective, "effective gid");
    group(out.gid.saved, "saved gid");
    group(out.gid.filesystem, "file system gid");
    for (std::uint32_t& member : out.groups)
        group(member, "supplementary group");
    return out;
}

/// Returns the ids as text, such as "1000 1000 1000 0".
std::string shown(const kernel::CredentialIds& ids) {
    return fmt::format("{} {} {} {}", ids.real, ids.effective, ids.saved, ids.filesystem);
}

std::string shown(std::uint64_t capabilities) {
    return fmt::format("{:#x}", capabilities);
}

std::string shown(const std::vector<std::uint32_t>& groups) {
    std::string text;
    for (const std::uint32_t group : groups)
        text += fmt::format("{}{}", text.empty() ? "" : " ", group);
    return text;
}

template <typename Value>
void requireSame(const char* what, const Value& now, const Value& wanted) {
    if (now == wanted)
        return;
    Error error(0, fmt::format("{} would be {}, not {} as in the image", what, shown(now), shown(wanted)));
    error.addHint("restore with at least the capabilities of the process, and in no more confined environment");
    throw error;
}

/// Returns sorted groups, for a comparison: the kernel sorts groups in a different order.
std::vector<std::uint32_t> sorted(std::vector<std::uint32_t> groups) {
    std::sort(groups.begin(), groups.end());
    return groups;
}

}  // namespace

KeyringsQuery::KeyringsQuery(pie::StepList& steps, pie::RemoteData& data)
    : ofThread_(data.reserve(sizeof(std::int64_t))), ofProcess_(data.reserve(sizeof(std::int64_t))) {
    const auto ask = [&steps](int keyring, std::uint64_t at) {
        constexpr int kDoNotCreate = 0;
        // Accepts any result: the call fails if the keyring doesn't exist, if the kernel lacks keyrings, or if a
        // seccomp filter denies the call.
        steps.call(pie::Subject::Query, 0, SYS_keyctl, KEYCTL_GET_KEYRING_ID, keyring, kDoNotCreate).check =
            pie::ResultCheck::Any;
        steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, at).check = pie::ResultCheck::Any;
    };
    ask(KEY_SPEC_THREAD_KEYRING, ofThread_);
    ask(KEY_SPEC_PROCESS_KEYRING, ofProcess_);
}

std::string_view KeyringsQuery::found(pie::RemoteData& answers) const {
    const bool thread = answers.local<std::int64_t>(ofThread_) >= 0;
    const bool process = answers.local<std::int64_t>(ofProcess_) >= 0;
    return thread && process ? "thread and process" : thread ? "thread" : process ? "process" : "";
}

SecureBitsQuery::SecureBitsQuery(pie::StepList& steps, pie::RemoteData& data)
    : at_(data.reserve(sizeof(std::uint64_t))) {
    steps.call(pie::Subject::SecureBits, 0, SYS_prctl, PR_GET_SECUREBITS);
    steps.add(pie::Op::StoreResult, pie::Subject::SecureBits, 0, at_);
}

void SecureBitsQuery::store(pie::RemoteData& answers, const kernel::TaskStatus& status, const model::IdMap& ids,
                            ThreadCoreEntry& core, Arena& arena) const {
    const Credentials now = inside(ofStatus(status), ids, HostPid(status.pid));
    auto& entry = *arena.make<CredsEntry>();
    core.creds = &entry;
    entry.uid = now.uid.real;
    entry.euid = now.uid.effective;
    entry.suid = now.uid.saved;
    entry.fsuid = now.uid.filesystem;
    entry.gid = now.gid.real;
    entry.egid = now.gid.effective;
    entry.sgid = now.gid.saved;
    entry.fsgid = now.gid.filesystem;
    storeSet(now.inheritable, arena, entry.cap_inh, entry.n_cap_inh);
    storeSet(now.permitted, arena, entry.cap_prm, entry.n_cap_prm);
    storeSet(now.effective, arena, entry.cap_eff, entry.n_cap_eff);
    storeSet(now.bounding, arena, entry.cap_bnd, entry.n_cap_bnd);
    storeSet(now.ambient, arena, entry.cap_amb, entry.n_cap_amb);
    entry.secbits = static_cast<std::uint32_t>(answers.local<std::uint64_t>(at_));
    entry.n_groups = now.groups.size();
    entry.groups = arena.array<std::uint32_t>(now.groups.size());
    std::copy(now.groups.begin(), now.groups.end(), entry.groups);
    if (now.noNewPrivileges) {
        entry.has_no_new_privs = 1;
        entry.no_new_privs = 1;
    }
}

Credentials Credentials::ofSelf() {
    kernel::ProcBuffer buffer;
    Credentials now = ofStatus(kernel::readStatus(kernel::ProcDir().self(), buffer));
    now.secureBits = static_cast<std::uint32_t>(sys(::prctl(PR_GET_SECUREBITS), "read own secure bits"));
    return now;
}

Credentials Credentials::ofImage(const CredsEntry& entry) {
    Credentials wanted;
    wanted.groups.assign(entry.groups, entry.groups + entry.n_groups);
    wanted.uid = {entry.uid, entry.euid, entry.suid, entry.fsuid};
    wanted.gid = {entry.gid, entry.egid, entry.sgid, entry.fsgid};
    wanted.inheritable = loadSet(entry.cap_inh, entry.n_cap_inh);
    wanted.permitted = loadSet(entry.cap_prm, entry.n_cap_prm);
    wanted.effective = loadSet(entry.cap_eff, entry.n_cap_eff);
    wanted.bounding = loadSet(entry.cap_bnd, entry.n_cap_bnd);
    wanted.ambient = loadSet(entry.cap_amb, entry.n_cap_amb);
    wanted.secureBits = entry.secbits;
    wanted.noNewPrivileges = entry.has_no_new_privs != 0 && entry.no_new_privs != 0;
    return wanted;
}

Credentials Credentials::ofUsernsRoot(const model::IdMap& ids, const Credentials& root) {
    Credentials first;
    if (ids.deniesSetgroups())
        first.groups = root.groups;
    const std::uint32_t uid = ids.firstUid();
    const std::uint32_t gid = ids.firstGid();
    first.uid = {uid, uid, uid, uid};
    first.gid = {gid, gid, gid, gid};
    first.permitted = first.effective = first.bounding = kernel::knownCapabilities();
    first.noNewPrivileges = ofSelf().noNewPrivileges;
    return first;
}

void requireCredentials(const Credentials& wanted, const kernel::TaskStatus& status, const model::IdMap& ids,
                        std::uint64_t known) {
    const Credentials now = inside(ofStatus(status), ids, HostPid(status.pid));
    requireSame("user ids", now.uid, wanted.uid);
    requireSame("group ids", now.gid, wanted.gid);
    requireSame("supplementary groups", sorted(now.groups), sorted(wanted.groups));
    requireSame("inheritable capabilities", now.inheritable, wanted.inheritable & known);
    requireSame("permitted capabilities", now.permitted, wanted.permitted & known);
    requireSame("effective capabilities", now.effective, wanted.effective & known);
    requireSame("bounding set of capabilities", now.bounding, wanted.bounding & known);
    requireSame("ambient capabilities", now.ambient, wanted.ambient & known);
    if (status.noNewPrivs)
        requireSame<std::uint64_t>("no_new_privs", now.noNewPrivileges ? 1 : 0, wanted.noNewPrivileges ? 1 : 0);
}

std::vector<std::uint32_t> outerGroups(const std::vector<std::uint32_t>& groups, const model::IdMap& ids) {
    std::vector<std::uint32_t> outer;
    for (const std::uint32_t group : groups) {
        outer.push_back(ids.outerGid(group));
        if (outer.back() == model::IdMap::kNone)
            fail("group {} has no number outside of the user namespace of the tree", group);
    }
    return outer;
}

void becomeUsernsRoot(const model::IdMap& ids) {
    // Calls the kernel directly, because libc's functions would also change the other threads of the process.
    if (!ids.deniesSetgroups())
        sys(::syscall(SYS_setgroups, 0, nullptr), "leave criu's groups");
    const std::uint32_t gid = ids.firstGid();
    sys(::syscall(SYS_setresgid, gid, gid, gid), "become group {} of the user namespace", gid);
    const std::uint32_t uid = ids.firstUid();
    sys(::syscall(SYS_setresuid, uid, uid, uid), "become user {} of the user namespace", uid);
    // Sets the dumpable flag, because otherwise root would own the process' files in /proc.
    sys(::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0), "become dumpable");
}

Credentials enterUserNamespace(const Credentials& now, const Credentials& wanted, int fd, pie::StepList& steps,
                               pie::RemoteData& data) {
    Credentials there = now;
    there.groups = wanted.groups;
    there.uid = wanted.uid;
    there.gid = wanted.gid;
    there.secureBits |= SECBIT_NO_SETUID_FIXUP;  // so that the kernel keeps the capabilities when the uid changes
    restoreCredentials(now, there, steps, data);
    const auto target = static_cast<std::uint64_t>(fd);
    steps.call(pie::Subject::Credentials, wanted.uid.real, SYS_setns, target, CLONE_NEWUSER);
    steps.call(pie::Subject::CloseFd, target, SYS_close, target);
    // After setns(2), the kernel sets these values (set_cred_user_ns() in kernel/user_namespace.c).
    there.secureBits = SECUREBITS_DEFAULT;
    there.inheritable = there.ambient = 0;
    there.permitted = there.effective = there.bounding = kernel::knownCapabilities();
    return there;
}

void restoreCredentials(const Credentials& now, const Credentials& wanted, pie::StepList& steps,
                        pie::RemoteData& data) {
    if (now == wanted)
        return;
    using pie::Subject;

    // Drops only capabilities that the thread has, because the sets of the image may contain capabilities that this
    // kernel lacks.
    for (unsigned capability = 0; capability <= kMaxCapability; ++capability)
        if ((now.bounding >> capability & 1U) != 0 && (wanted.bounding >> capability & 1U) == 0)
            steps.call(Subject::Capabilities, capability, SYS_prctl, PR_CAPBSET_DROP, capability, 0, 0, 0);

    if (now.groups != wanted.groups)
        steps.call(Subject::Credentials, wanted.gid.real, SYS_setgroups, wanted.groups.size(),
                   data.put(std::as_bytes(std::span(wanted.groups))));
    if (now.gid != wanted.gid) {
        steps.call(Subject::Credentials, wanted.gid.real, SYS_setresgid, wanted.gid.real, wanted.gid.effective,
                   wanted.gid.saved);
        // Accepts any result, because setfsgid(2) always returns the previous id.
        steps.call(Subject::Credentials, wanted.gid.filesystem, SYS_setfsgid, wanted.gid.filesystem).check =
            pie::ResultCheck::Any;
    }
    const bool changesUser = now.uid != wanted.uid;
    if (changesUser) {
        // Without this bit, the kernel would clear the capability sets when the process changes from uid 0 to another
        // uid.
        steps.call(Subject::SecureBits, SECBIT_NO_SETUID_FIXUP, SYS_prctl, PR_SET_SECUREBITS,
                   now.secureBits | SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
        steps.call(Subject::Credentials, wanted.uid.real, SYS_setresuid, wanted.uid.real, wanted.uid.effective,
                   wanted.uid.saved);
        steps.call(Subject::Credentials, wanted.uid.filesystem, SYS_setfsuid, wanted.uid.filesystem).check =
            pie::ResultCheck::Any;
    }

    // Raises ambient capabilities while they are permitted and inheritable, and before the secure bits, which may lock
    // them.
    if (now.inheritable != wanted.inheritable)
        capset(now.effective, now.permitted, wanted.inheritable, steps, data);
    for (unsigned capability = 0; capability <= kMaxCapability; ++capability)
        if ((wanted.ambient >> capability & 1U) != 0)
            steps.call(Subject::Capabilities, capability, SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability,
                       0, 0);
    if (changesUser || now.secureBits != wanted.secureBits)
        steps.call(Subject::SecureBits, wanted.secureBits, SYS_prctl, PR_SET_SECUREBITS, wanted.secureBits, 0, 0, 0);
    capset(wanted.effective, wanted.permitted, wanted.inheritable, steps, data);
    if (wanted.noNewPrivileges && !now.noNewPrivileges)
        steps.call(Subject::NoNewPrivileges, 1, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

}  // namespace criu::task
