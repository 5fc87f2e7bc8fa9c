// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/landlock_check.hpp"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <sys/syscall.h>

#include <compel/remote_syscalls.hpp>

#include <compare>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/tasks/zombie.hpp"
#include "criu/kernel/landlock.hpp"
#include "criu/kernel/proc/pid_limit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/task/security_label.hpp"

namespace criu::engine {
namespace {

/// Properties of a thread that decide, apart from Landlock, whether the kernel lets the thread inspect a zombie
/// (__ptrace_may_access(), PTRACE_MODE_READ_REALCREDS).
struct Identity {
    std::optional<std::uint32_t> pidNamespace;
    std::optional<std::uint32_t> userNamespace;
    std::uint32_t user = 0;
    std::uint32_t group = 0;
    auto operator<=>(const Identity&) const = default;
};

Identity identityOf(FrozenTask& task, const kernel::TaskStatus& status) {
    return {task.namespaceOf(kernel::NamespaceKind::Pid), task.namespaceOf(kernel::NamespaceKind::User),
            status.uid.real, status.gid.real};
}

/// Zombie that criu creates for all threads with equal namespaces and user ids. A thread in a Landlock domain may not
/// inspect this zombie. `obstacle`: reason why criu couldn't create the zombie.
struct LandlockClone {
    std::optional<Zombie> zombie;
    std::string obstacle;
};

}  // namespace

class LandlockCheck::Part {
public:
    explicit Part(Log& log) : log_(log), home_(kernel::readNamespaceIds(kernel::ProcDir().self())) {}

    void prepare(FrozenTask& task);
    std::uint64_t ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data);
    void requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer);

private:
    const LandlockClone& witnessFor(FrozenTask& task, const Identity& identity);
    void make(FrozenTask& task, const Identity& identity, LandlockClone& witness);
    [[nodiscard]] bool isConfinedByLabel(const FrozenTask& task, const compel::Tracee& thread);

    Log& log_;
    kernel::NamespaceIds home_;  ///< namespaces of criu
    std::optional<task::LabelModule> labels_;
    std::map<Identity, LandlockClone> witnesses_;
};

void LandlockCheck::Part::make(FrozenTask& task, const Identity& identity, LandlockClone& witness) {
    ZombieIdentity wanted;
    if (identity.pidNamespace != home_.of(kernel::NamespaceKind::Pid))
        wanted.pidNamespace = task.dir.open("ns/pid", O_RDONLY);
    if (identity.userNamespace != home_.of(kernel::NamespaceKind::User))
        wanted.userNamespace = task.dir.open("ns/user", O_RDONLY);
    wanted.user = identity.user;
    wanted.group = identity.group;
    wanted.wantedNumber = kernel::PidLimit().highest() - static_cast<pid_t>(witnesses_.size());
    witness.zombie.emplace(wanted);
}

const LandlockClone& LandlockCheck::Part::witnessFor(FrozenTask& task, const Identity& identity) {
    const auto [found, isNew] = witnesses_.try_emplace(identity);
    LandlockClone& witness = found->second;
    if (!isNew)
        return witness;
    try {
        make(task, identity, witness);
    } catch (const compel::Error& error) {
        witness.obstacle = error.what();
    }
    return witness;
}

void LandlockCheck::Part::prepare(FrozenTask& task) {
    kernel::ProcBuffer buffer;
    for (const compel::FrozenThread& thread : task.process->threads())
        (void)witnessFor(task, identityOf(task, kernel::readThreadStatus(task.dir, thread.tracee.tid(), buffer)));
}

std::uint64_t LandlockCheck::Part::ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data) {
    const LandlockClone& witness = witnessFor(task, identityOf(task, task.status));
    if (!witness.zombie)
        return 0;
    const pid_t number = witness.zombie->number();
    const std::uint64_t resultAt = data.put(std::int64_t{-EPERM});
    steps.call(pie::Subject::Query, 0, SYS_kcmp, number, number, KCMP_FILES, 0, 0).check = pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, resultAt).check = pie::ResultCheck::Any;
    return resultAt;
}

/// Returns true if AppArmor, SELinux or Smack confines the thread. Such a confinement, too, may be the reason why the
/// thread can't inspect the zombie.
bool LandlockCheck::Part::isConfinedByLabel(const FrozenTask& task, const compel::Tracee& thread) {
    if (!labels_)
        labels_ = task::labelModule();
    if (*labels_ == task::LabelModule::None)
        return false;
    const auto label = task::securityLabel(task.dir.thread(thread.tid()));
    return label && !task::isUnconfined(*label);
}

void LandlockCheck::Part::requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer) {
    if (answer >= 0)
        return;
    kernel::ProcBuffer buffer;
    const Identity identity = identityOf(task, kernel::readThreadStatus(task.dir, thread.tid(), buffer));
    const LandlockClone& witness = witnessFor(task, identity);
    std::string why = witness.obstacle;
    if (witness.zombie) {
        const pid_t number = witness.zombie->number();
        compel::RemoteSyscalls calls(thread, task.process->syscallInstruction());
        const std::int64_t result = calls.call(SYS_kcmp, number, number, KCMP_FILES, 0, 0);
        calls.restore();
        if (result >= 0)
            return;
        if (result == -EPERM && !isConfinedByLabel(task, thread)) {
            Error error(0,
                        fmt::format("{} is in a Landlock domain, which can't be dumped",
                                    thread.tid() == task.pid().value ? "it" : fmt::format("thread {}", thread.tid())));
            error.addHint("the kernel doesn't show the rules of a domain, so a restored process would lack them");
            throw error;
        }
        why = fmt::format("it may not look into process {} of its user: {}", number,
                          std::strerror(static_cast<int>(-result)));
    }
    log_.loss(Loss::Landlock, "{}: whether thread {} is in a Landlock domain, which would be lost, can't be known: {}",
              task.describe(), thread.tid(), why);
}

LandlockCheck::LandlockCheck(Log& log) : part_(kernel::hasLandlock() ? std::make_unique<Part>(log) : nullptr) {}

LandlockCheck::~LandlockCheck() = default;

void LandlockCheck::prepare(FrozenTask& task) {
    if (part_)
        part_->prepare(task);
}

std::uint64_t LandlockCheck::ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data) {
    return part_ ? part_->ask(task, steps, data) : 0;
}

void LandlockCheck::requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer) {
    if (part_)
        part_->requireOutsideDomain(task, thread, answer);
}

}  // namespace criu::engine
