// SPDX-License-Identifier: GPL-2.0-only
#include "criu/task/signals.hpp"

#include <signal.h>
#include <sys/syscall.h>

#include <array>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/task/compat.hpp"
#include "images/core.hpp"

namespace criu::task {
namespace {

constexpr int kSignals = 64;
constexpr std::size_t kSigsetBytes = 8;
constexpr std::size_t kSiginfoBytes = 128;

/// Argument of rt_sigaction(2), which differs from libc's struct sigaction.
struct KernelSigaction {
    std::uint64_t handler = 0;
    std::uint64_t flags = 0;
    std::uint64_t restorer = 0;
    std::uint64_t mask = 0;
};

/// Argument of the 32-bit rt_sigaction(2). If a handler was set by this call, the kernel calls it as 32-bit code.
struct CompatSigaction {
    std::uint32_t handler = 0;
    std::uint32_t flags = 0;
    std::uint32_t restorer = 0;
    std::uint32_t mask[2] = {};
};

CompatSigaction compatAction(const SaEntry& entry, int signal) {
    const auto narrow = [signal](std::uint64_t value) {
        if (value >> 32 != 0)
            fail("signal {} of a 32-bit process has a handler, restorer or flags of {:#x}", signal, value);
        return static_cast<std::uint32_t>(value);
    };
    return {narrow(entry.sigaction),
            narrow(entry.flags),
            narrow(entry.restorer),
            {static_cast<std::uint32_t>(entry.mask), static_cast<std::uint32_t>(entry.mask >> 32)}};
}

struct KernelStack {
    std::uint64_t sp = 0;
    std::uint32_t flags = 0;
    std::uint32_t unused = 0;
    std::uint64_t size = 0;
};

int signalOf(std::span<const std::byte> info) {
    int signal = 0;
    if (info.size() >= sizeof(signal))
        std::memcpy(&signal, info.data(), sizeof(signal));
    return signal;
}

/// Returns false for SIGKILL and SIGSTOP, whose actions can't be set and aren't in images.
bool hasAction(int signal) {
    return signal != SIGKILL && signal != SIGSTOP;
}

}  // namespace

SignalActionQuery::SignalActionQuery(bool compat, pie::StepList& steps, pie::RemoteData& data)
    : compat_(compat), at_(data.reserve(sizeof(KernelSigaction) * kSignals)) {
    for (int signal = 1; signal <= kSignals; ++signal)
        if (hasAction(signal))
            steps.call(pie::Subject::SignalAction, static_cast<std::uint64_t>(signal), SYS_rt_sigaction, signal, 0,
                       at_ + sizeof(KernelSigaction) * static_cast<std::size_t>(signal - 1), kSigsetBytes);
}

void SignalActionQuery::store(pie::RemoteData& answers, TaskCoreEntry& core, Arena& arena) const {
    core.sigactions = arena.array<SaEntry*>(kSignals - 2);
    core.n_sigactions = 0;
    for (int signal = 1; signal <= kSignals; ++signal) {
        if (!hasAction(signal))
            continue;
        const auto& action =
            answers.local<KernelSigaction>(at_ + sizeof(KernelSigaction) * static_cast<std::size_t>(signal - 1));
        auto& entry = *arena.make<SaEntry>();
        entry.sigaction = action.handler;
        entry.flags = action.flags;
        entry.restorer = action.restorer;
        entry.mask = action.mask;
        entry.has_compat_sigaction = 1;
        entry.compat_sigaction = compat_;
        core.sigactions[core.n_sigactions++] = &entry;
    }
}

SignalStackQuery::SignalStackQuery(pie::StepList& steps, pie::RemoteData& data)
    : at_(data.reserve(sizeof(KernelStack))) {
    steps.call(pie::Subject::SignalStack, 0, SYS_sigaltstack, 0, at_);
}

void SignalStackQuery::store(pie::RemoteData& answers, ThreadCoreEntry& core, Arena& arena) const {
    const auto& stack = answers.local<KernelStack>(at_);
    auto& entry = *arena.make<ThreadSasEntry>();
    entry.ss_sp = stack.sp;
    entry.ss_size = stack.size;
    entry.ss_flags = stack.flags;
    core.sas = &entry;
}

SignalQueueEntry* storeSignalQueue(std::span<const std::vector<std::byte>> queue, std::uint64_t pending, Arena& arena) {
    auto* const entry = arena.make<SignalQueueEntry>();
    entry->signals = arena.array<SiginfoEntry*>(queue.size() + kSignals);
    const auto add = [&](std::span<const std::byte> info) {
        entry->signals[entry->n_signals] = arena.make<SiginfoEntry>();
        entry->signals[entry->n_signals++]->siginfo = arena.bytes(info);
    };
    const auto bit = [](int signal) { return std::uint64_t{1} << (signal - 1); };
    // Doesn't store SIGKILL, which is pending for every thread of a process that is being killed. Doesn't store
    // SIGSTOP: in a stopped process it has no effect, because SIGCONT removes it, and the restorer would stop when it
    // queues it.
    std::uint64_t left = pending & ~(bit(SIGKILL) | bit(SIGSTOP));
    for (const std::vector<std::byte>& info : queue) {
        add(info);
        if (const int signal = signalOf(info); signal >= 1 && signal <= kSignals)
            left &= ~bit(signal);
    }
    for (int signal = 1; signal <= kSignals; ++signal) {
        std::array<std::byte, kSiginfoBytes> info{};  // zeroes mean SI_USER, sent by process 0
        std::memcpy(info.data(), &signal, sizeof(signal));
        if ((left & bit(signal)) != 0)
            add(info);
    }
    return entry;
}

bool needsRoomInQueue(const ProtobufCBinaryData& siginfo) {
    siginfo_t info{};
    if (siginfo.len != sizeof(info))
        return false;  // restoreSignalQueue() refuses it
    std::memcpy(&info, siginfo.data, sizeof(info));
    constexpr int kFirstRealTime = 32;
    const bool hasNoSender = info.si_code == SI_USER && info.si_pid == 0 && info.si_uid == 0;
    return !hasNoSender && (info.si_signo >= kFirstRealTime || info.si_code < 0);
}

void restoreSignalActions(const TaskCoreEntry& core, pie::StepList& steps, pie::RemoteData& data) {
    std::size_t next = 0;
    for (int signal = 1; signal <= kSignals && next < core.n_sigactions; ++signal) {
        if (!hasAction(signal))
            continue;
        const SaEntry& entry = *core.sigactions[next++];
        // A new process has default actions, because the restorer resets them. So default actions need no call.
        if (entry.sigaction == 0 && entry.flags == 0 && entry.mask == 0 && entry.restorer == 0)
            continue;
        if (entry.has_compat_sigaction != 0 && entry.compat_sigaction != 0) {
            steps.compatCall(pie::Subject::SignalAction, static_cast<std::uint64_t>(signal),
                             numberOf(CompatCall::RtSigaction), signal, data.put(compatAction(entry, signal)), 0,
                             kSigsetBytes);
            continue;
        }
        const std::uint64_t at = data.put(KernelSigaction{entry.sigaction, entry.flags, entry.restorer, entry.mask});
        steps.call(pie::Subject::SignalAction, static_cast<std::uint64_t>(signal), SYS_rt_sigaction, signal, at, 0,
                   kSigsetBytes);
    }
}

void restoreSignalStack(const ThreadCoreEntry& core, pie::StepList& steps, pie::RemoteData& data) {
    if (core.sas == nullptr || (core.sas->ss_flags & SS_DISABLE) != 0)
        return;
    KernelStack stack;
    stack.sp = core.sas->ss_sp;
    stack.size = core.sas->ss_size;
    // Removes SS_ONSTACK, which the kernel derives from the stack pointer and which can't be set.
    stack.flags = core.sas->ss_flags & ~static_cast<std::uint32_t>(SS_ONSTACK);
    steps.call(pie::Subject::SignalStack, 0, SYS_sigaltstack, data.put(stack), 0);
}

void restoreSignalQueue(const SignalQueueEntry* queue, bool shared, pid_t pid, pid_t tid, pie::StepList& steps,
                        pie::RemoteData& data) {
    if (queue == nullptr)
        return;
    for (std::size_t i = 0; i < queue->n_signals; ++i) {
        const ProtobufCBinaryData& bytes = queue->signals[i]->siginfo;
        if (bytes.len != kSiginfoBytes)
            fail("a queued signal has {} bytes, not {}", bytes.len, kSiginfoBytes);
        const auto raw = std::as_bytes(std::span(bytes.data, bytes.len));
        const int signal = signalOf(raw);
        const std::uint64_t info = data.put(raw);
        if (shared)
            steps.call(pie::Subject::SignalQueue, static_cast<std::uint64_t>(signal), SYS_rt_sigqueueinfo, pid, signal,
                       info);
        else
            steps.call(pie::Subject::SignalQueue, static_cast<std::uint64_t>(signal), SYS_rt_tgsigqueueinfo, pid, tid,
                       signal, info);
    }
}

}  // namespace criu::task
