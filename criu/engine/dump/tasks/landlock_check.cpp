// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/tasks/landlock_check.hpp"

#include <linux/kcmp.h>
#include <linux/landlock.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include <compel/error.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <compare>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/tasks/stopped_clone.hpp"
#include "criu/engine/dump/tasks/suspend_syscall_dispatch.hpp"
#include "criu/kernel/landlock.hpp"
#include "criu/kernel/proc/limits.hpp"
#include "criu/kernel/proc/pid_limit.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/pie/step_results.hpp"

namespace criu::engine {
namespace {

/// LANDLOCK_MAX_NUM_LAYERS: since Linux 5.19, and before.
constexpr int kMostLayers = 16;
constexpr int kMostLayersBefore = 64;

/// Another limit of a process for as long as this lives. Nothing is changed if criu may not do that.
class OtherLimit {
public:
    OtherLimit(pid_t process, __rlimit_resource resource, rlim_t value) : process_(process), resource_(resource) {
        const rlimit other{value, value};
        changed_ = ::prlimit(process, resource, &other, &before_) == 0;
    }
    ~OtherLimit() {
        if (changed_)
            (void)::prlimit(process_, resource_, &before_, nullptr);
    }
    OtherLimit(const OtherLimit&) = delete;
    OtherLimit& operator=(const OtherLimit&) = delete;

private:
    pid_t process_;
    __rlimit_resource resource_;
    rlimit before_{};
    bool changed_ = false;
};

rlim_t mostFiles() {
    const std::string text = kernel::ProcDir().readFile("sys/fs/nr_open");
    rlim_t most = 0;
    std::from_chars(text.data(), text.data() + text.size(), most);
    return most;
}

/// What a clone that entered domains has seen.
struct Entered {
    int layers = 0;  ///< those it could enter
    int error = 0;   ///< of the next one
};

/// Has a clone enter as many domains as it can. It has its own limits, but the descriptors of the process.
class Layers {
public:
    Layers(compel::Injection& injection, compel::Tracee& clone) : injection_(injection), clone_(clone) {}

    Entered enter() {
        Entered all = run();
        if (all.error == EMFILE) {
            // As many as anybody may have, or as the clone may allow itself.
            const OtherLimit more(clone_.tid(), RLIMIT_NOFILE, mostFiles());
            kernel::ProcBuffer buffer;
            all = run(kernel::readLimits(kernel::ProcDir().open(clone_.tid()), buffer)[RLIMIT_NOFILE].rlim_max);
        }
        while (all.error == 0 && all.layers < kMostLayersBefore) {
            const Entered further = run();
            all = {all.layers + further.layers, further.error};
        }
        return all;
    }

private:
    /// `files`: another limit for descriptors.
    Entered run(std::optional<rlim_t> files = {}) {
        pie::RemoteData data(injection_.data());
        pie::StepList steps;
        const std::uint64_t rulesAt = data.put(std::uint64_t{LANDLOCK_ACCESS_FS_MAKE_DIR});
        const std::uint64_t fileAt = data.put(std::int64_t{-1});
        const auto add = [&](long number, auto... arguments) -> pie::Step& {
            pie::Step& step = steps.call(pie::Subject::Query, 0, number, arguments...);
            step.check = pie::ResultCheck::Any;
            return step;
        };
        constexpr std::uint16_t kFirst = 1;  // the first argument is what is there
        if (files)
            add(SYS_prlimit64, 0, RLIMIT_NOFILE, data.put(rlimit{*files, *files}), 0);
        add(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        add(SYS_landlock_create_ruleset, rulesAt, sizeof(std::uint64_t), 0);
        steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, fileAt).check = pie::ResultCheck::Any;
        const std::size_t first = steps.size();
        for (int i = 0; i <= kMostLayers; ++i)
            add(SYS_landlock_restrict_self, fileAt, 0).indirect = kFirst;
        add(SYS_close, fileAt).indirect = kFirst;
        const RemoteProgram program = placeProgram(steps, data, &clone_);
        runPrograms(injection_, data, {&program, 1});
        if (const auto file = data.local<std::int64_t>(fileAt); compel::isSyscallError(file))
            return {0, static_cast<int>(-file)};
        Entered entered;
        for (std::size_t i = first; i <= first + kMostLayers; ++i) {
            const std::int64_t result = data.local<pie::Step>(program.steps + i * sizeof(pie::Step)).result;
            if (result != 0) {
                entered.error = static_cast<int>(-result);
                break;
            }
            ++entered.layers;
        }
        return entered;
    }

    compel::Injection& injection_;
    compel::Tracee& clone_;
};

/// What a thread says to looking into a process that it calls `number`. Nothing is compared with that but itself.
std::int64_t look(compel::RemoteSyscalls& calls, pid_t number) {
    return calls.call(SYS_kcmp, number, number, KCMP_FILES, 0, 0);
}

/// A clone of a thread, which nobody gets to know of.
class LandlockClone {
public:
    /// `wanted`: its number, if the thread may choose that, for StoppedClone.
    LandlockClone(FrozenTask& task, compel::Tracee& maker, pid_t wanted, compel::Injection& injection)
        : task_(task), maker_(maker) {
        requireIgnorableSigchld(task);
        if (!task.namespaces().pidForChildren)
            fail("its next child is the first process of a pid namespace");
        compel::RemoteSyscalls calls(maker_, task_.process->syscallInstruction());
        try {
            clone_ =
                std::make_unique<StoppedClone>(calls, task_.dir, kFlags, wanted, injection.data(), injection.memory());
        } catch (const compel::Error& error) {
            if (error.code() != EPERM && error.code() != EINVAL && error.code() != EEXIST && error.code() != EAGAIN)
                throw;
            std::optional<OtherLimit> more;
            if (error.code() == EAGAIN)
                more.emplace(task_.process->pid(), RLIMIT_NPROC, RLIM_INFINITY);
            clone_ = std::make_unique<StoppedClone>(calls, task_.dir, kFlags);
        }
    }
    ~LandlockClone() {
        try {
            const SyscallDispatchSuspension pause(*task_.process);
            compel::RemoteSyscalls calls(maker_, task_.process->syscallInstruction());
            if (!ended_)
                closeRules(calls);
            RemoteScratchPage exchange(task_, calls);
            const IgnoredSigchld unnoticed(exchange, TreePid(task_.status.innermostPid()));
            clone_.reset();
        } catch (const std::exception&) {
            return;  // the process has been killed
        }
    }
    LandlockClone(const LandlockClone&) = delete;
    LandlockClone& operator=(const LandlockClone&) = delete;

    [[nodiscard]] pid_t number() const noexcept { return clone_->number(); }

    /// To be called once. It has ended then.
    Entered enter(compel::Injection& injection) {
        const Entered entered = Layers(injection, clone_->tracee()).enter();
        clone_->end();
        ended_ = true;
        return entered;
    }

private:
    static constexpr unsigned long kFlags = CLONE_VM | CLONE_FILES;

    /// A clone that somebody has killed in between has left its rules among the descriptors of the process. That had
    /// none of these: they are refused before.
    void closeRules(compel::RemoteSyscalls& calls) const {
        for (const int file : task_.dir.numbers("fd"))
            if (task_.dir.readLink(fmt::format("fd/{}", file)) == "anon_inode:[landlock-ruleset]")
                (void)calls.call(SYS_close, file);
    }

    FrozenTask& task_;
    compel::Tracee& maker_;
    std::unique_ptr<StoppedClone> clone_;
    bool ended_ = false;
};

}  // namespace

class LandlockCheck::Part {
public:
    explicit Part(Log& log) : log_(log) {}

    void prepare(FrozenTask& task, compel::Injection& injection);
    std::uint64_t ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data) const;
    void requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer,
                              compel::Injection& injection);
    void finish();

private:
    /// A pid namespace and who may look into whom in it.
    struct Credentials {
        std::optional<std::uint32_t> pidNamespace;
        std::optional<std::uint32_t> userNamespace;
        std::array<std::uint32_t, 6> ids{};
        kernel::CapabilityMask permitted = 0;
        auto operator<=>(const Credentials&) const = default;
    };
    struct Doubt {
        FrozenTask& task;
        compel::Tracee& thread;
        std::string why;
    };

    static Credentials credentialsOf(FrozenTask& task, const kernel::TaskStatus& status);
    /// Nothing if the thread is in no domain, else why that isn't known. Throws Error if it is in one.
    std::optional<std::string> test(FrozenTask& task, compel::Tracee& thread, const Credentials& credentials,
                                    compel::Injection& injection);
    void refuseLayers(const FrozenTask& task, const compel::Tracee& thread, int layers);
    [[nodiscard]] bool isSeenFree(const Doubt& doubt) const;

    Log& log_;
    pid_t number_ = 0;              ///< of the last clone
    std::optional<int> ownLayers_;  ///< kernel::freeLandlockLayers(), when it was needed
    std::map<Credentials, std::unique_ptr<LandlockClone>> witnesses_;
    std::set<pid_t> free_;  ///< threads that have been tested
    std::vector<Doubt> doubts_;
};

LandlockCheck::Part::Credentials LandlockCheck::Part::credentialsOf(FrozenTask& task,
                                                                    const kernel::TaskStatus& status) {
    return {task.namespaceOf(kernel::NamespaceKind::Pid),
            task.namespaceOf(kernel::NamespaceKind::User),
            {status.uid.real, status.uid.effective, status.uid.saved, status.gid.real, status.gid.effective,
             status.gid.saved},
            status.capPermitted};
}

void LandlockCheck::Part::refuseLayers(const FrozenTask& task, const compel::Tracee& thread, int layers) {
    if (layers == kMostLayers || layers == kMostLayersBefore)
        return;
    // Criu may be in a domain itself, of which whoever it may dump is in, too.
    if (!ownLayers_)
        ownLayers_ = kernel::freeLandlockLayers();
    if (layers == *ownLayers_)
        return;
    Error error(0, fmt::format("{} is in a Landlock domain, which can't be dumped",
                               thread.tid() == task.pid().value ? "it" : fmt::format("thread {}", thread.tid())));
    error.addHint("the kernel tells nobody the rules of a domain, so a restored process would be free of them");
    throw error;
}

std::optional<std::string> LandlockCheck::Part::test(FrozenTask& task, compel::Tracee& thread,
                                                     const Credentials& credentials, compel::Injection& injection) {
    std::unique_ptr<LandlockClone> witness;
    Entered entered;
    try {
        if (number_ == 0)
            number_ = kernel::PidLimit().highest();
        witness = std::make_unique<LandlockClone>(task, thread, --number_, injection);
        entered = witness->enter(injection);
    } catch (const compel::TraceeGone&) {
        throw;
    } catch (const compel::Error& error) {
        return error.what();
    }
    if (entered.error != E2BIG)
        return fmt::format("a clone of it enters no domain: {}", std::strerror(entered.error));
    refuseLayers(task, thread, entered.layers);
    free_.insert(thread.tid());
    witnesses_.try_emplace(credentials, std::move(witness));
    return {};
}

void LandlockCheck::Part::prepare(FrozenTask& task, compel::Injection& injection) {
    const Credentials credentials = credentialsOf(task, task.status);
    if (!witnesses_.contains(credentials))
        if (const auto why = test(task, task.process->leader(), credentials, injection))
            log_.debug("pid {}: not known yet whether it is in a Landlock domain: {}", task.pid(), *why);
}

std::uint64_t LandlockCheck::Part::ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data) const {
    const auto found = witnesses_.find(credentialsOf(task, task.status));
    if (found == witnesses_.end())
        return 0;
    const pid_t number = found->second->number();
    const std::uint64_t resultAt = data.put(std::int64_t{-EPERM});
    steps.call(pie::Subject::Query, 0, SYS_kcmp, number, number, KCMP_FILES, 0, 0).check = pie::ResultCheck::Any;
    steps.add(pie::Op::StoreResult, pie::Subject::Query, 0, resultAt).check = pie::ResultCheck::Any;
    return resultAt;
}

void LandlockCheck::Part::requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer,
                                               compel::Injection& injection) {
    if (answer >= 0 || free_.contains(thread.tid()))
        return;
    kernel::ProcBuffer buffer;
    const Credentials credentials = credentialsOf(task, kernel::readThreadStatus(task.dir, thread.tid(), buffer));
    if (const auto found = witnesses_.find(credentials); found != witnesses_.end()) {
        compel::RemoteSyscalls calls(thread, task.process->syscallInstruction());
        if (look(calls, found->second->number()) >= 0)
            return;
    }
    if (auto why = test(task, thread, credentials, injection))
        doubts_.push_back({task, thread, std::move(*why)});
}

bool LandlockCheck::Part::isSeenFree(const Doubt& doubt) const {
    const SyscallDispatchSuspension pause(*doubt.task.process);
    compel::RemoteSyscalls calls(doubt.thread, doubt.task.process->syscallInstruction());
    const auto pids = doubt.task.namespaceOf(kernel::NamespaceKind::Pid);
    return std::any_of(witnesses_.begin(), witnesses_.end(), [&](const auto& each) {
        return each.first.pidNamespace == pids && look(calls, each.second->number()) >= 0;
    });
}

void LandlockCheck::Part::finish() {
    for (const Doubt& doubt : doubts_)
        if (!isSeenFree(doubt))
            log_.warn("{}: whether thread {} is in a Landlock domain, which would be lost, can't be known: {}",
                      doubt.task.describe(), doubt.thread.tid(), doubt.why);
    witnesses_.clear();
}

LandlockCheck::LandlockCheck(Log& log) : part_(kernel::hasLandlock() ? std::make_unique<Part>(log) : nullptr) {}

LandlockCheck::~LandlockCheck() = default;

void LandlockCheck::prepare(FrozenTask& task, compel::Injection& injection) {
    if (part_)
        part_->prepare(task, injection);
}

std::uint64_t LandlockCheck::ask(FrozenTask& task, pie::StepList& steps, pie::RemoteData& data) const {
    return part_ ? part_->ask(task, steps, data) : 0;
}

void LandlockCheck::requireOutsideDomain(FrozenTask& task, compel::Tracee& thread, std::int64_t answer,
                                         compel::Injection& injection) {
    if (part_)
        part_->requireOutsideDomain(task, thread, answer, injection);
}

void LandlockCheck::finish() {
    if (part_)
        part_->finish();
}

}  // namespace criu::engine
