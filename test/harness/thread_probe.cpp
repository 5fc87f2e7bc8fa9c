// SPDX-License-Identifier: GPL-2.0-only
// thread_probe PID: prints results of system calls that only a process' own threads can make, one line "TID WHAT =
// VALUE" each. It stops the process during that time. An error of a call is a value as well.
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <linux/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace {

// Constants of <linux/prctl.h> and <asm/prctl.h> that older headers lack.
enum : std::uint64_t {
    kGetSchedCore = 0,               // PR_SCHED_CORE_GET
    kGetMdwe = 66,                   // PR_GET_MDWE
    kGetMemoryMerge = 68,            // PR_GET_MEMORY_MERGE
    kTimerRestoreIds = 77,           // PR_TIMER_CREATE_RESTORE_IDS
    kTimerRestoreIdsGet = 2,         // PR_TIMER_CREATE_RESTORE_IDS_GET
    kFutexHash = 78,                 // PR_FUTEX_HASH
    kFutexHashGetSlots = 2,          // PR_FUTEX_HASH_GET_SLOTS
    kGetCpuid = 0x1011,              // ARCH_GET_CPUID
    kGetFeaturePermission = 0x1022,  // ARCH_GET_XCOMP_PERM
    kGetGuestPermission = 0x1024,    // ARCH_GET_XCOMP_GUEST_PERM
    kGetUntagMask = 0x4001,          // ARCH_GET_UNTAG_MASK
    kShadowStackStatus = 0x5005,     // ARCH_SHSTK_STATUS
    kMembarrierRegistrations = 1 << 9,
};

constexpr std::uint64_t kBuffer = ~std::uint64_t{0};  // stands for the address of the result
constexpr std::uint64_t kBehind = ~std::uint64_t{1};  // stands for the address of a second result, 8 bytes behind
constexpr std::size_t kRoom = 256;

struct Question {
    const char* name;
    long number;
    std::vector<std::uint64_t> arguments;
    std::size_t answer;  // bytes in the buffer; 0: the return value is the result
};

const std::vector<Question>& threadQuestions() {
    static const std::vector<Question> all{
        {"PR_GET_PDEATHSIG", SYS_prctl, {PR_GET_PDEATHSIG, kBuffer}, 4},
        {"PR_GET_KEEPCAPS", SYS_prctl, {PR_GET_KEEPCAPS}, 0},
        {"PR_GET_TIMING", SYS_prctl, {PR_GET_TIMING}, 0},
        {"PR_GET_SECUREBITS", SYS_prctl, {PR_GET_SECUREBITS}, 0},
        {"PR_GET_TSC", SYS_prctl, {PR_GET_TSC, kBuffer}, 4},
        {"PR_GET_TIMERSLACK", SYS_prctl, {PR_GET_TIMERSLACK}, 0},
        {"PR_MCE_KILL_GET", SYS_prctl, {PR_MCE_KILL_GET, 0, 0, 0, 0}, 0},
        {"PR_GET_NO_NEW_PRIVS", SYS_prctl, {PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0}, 0},
        {"PR_GET_TID_ADDRESS", SYS_prctl, {PR_GET_TID_ADDRESS, kBuffer}, 8},
        {"PR_GET_SPECULATION_CTRL 0", SYS_prctl, {PR_GET_SPECULATION_CTRL, 0, 0, 0, 0}, 0},
        {"PR_GET_SPECULATION_CTRL 1", SYS_prctl, {PR_GET_SPECULATION_CTRL, 1, 0, 0, 0}, 0},
        {"PR_GET_SPECULATION_CTRL 2", SYS_prctl, {PR_GET_SPECULATION_CTRL, 2, 0, 0, 0}, 0},
        {"PR_SVE_GET_VL", SYS_prctl, {PR_SVE_GET_VL}, 0},
        {"PR_GET_TAGGED_ADDR_CTRL", SYS_prctl, {PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0}, 0},
        {"PR_PAC_GET_ENABLED_KEYS", SYS_prctl, {PR_PAC_GET_ENABLED_KEYS, 0, 0, 0, 0}, 0},
        {"PR_GET_IO_FLUSHER", SYS_prctl, {PR_GET_IO_FLUSHER, 0, 0, 0, 0}, 0},
        {"PR_SCHED_CORE", SYS_prctl, {PR_SCHED_CORE, kGetSchedCore, 0, 0, kBuffer}, 8},
#ifdef SYS_arch_prctl
        {"ARCH_GET_CPUID", SYS_arch_prctl, {kGetCpuid, 0}, 0},
        {"ARCH_SHSTK_STATUS", SYS_arch_prctl, {kShadowStackStatus, kBuffer}, 8},
#endif
        {"sigaltstack", SYS_sigaltstack, {0, kBuffer}, sizeof(stack_t)},
        {"robust list", SYS_get_robust_list, {0, kBuffer, kBehind}, 16},
        {"memory policy", SYS_get_mempolicy, {kBuffer, kBehind, 1024, 0, 0}, 8 + 128},
        {"personality", SYS_personality, {0xffffffff}, 0},
#ifdef SYS_arch_prctl
        {"fs base", SYS_arch_prctl, {0x1003, kBuffer}, 8},  // ARCH_GET_FS
        {"gs base", SYS_arch_prctl, {0x1004, kBuffer}, 8},  // ARCH_GET_GS
#endif
    };
    return all;
}

const std::vector<Question>& processQuestions() {
    static const std::vector<Question> all = [] {
        std::vector<Question> made{
            {"PR_GET_DUMPABLE", SYS_prctl, {PR_GET_DUMPABLE}, 0},
            {"PR_GET_CHILD_SUBREAPER", SYS_prctl, {PR_GET_CHILD_SUBREAPER, kBuffer}, 4},
            {"PR_GET_THP_DISABLE", SYS_prctl, {PR_GET_THP_DISABLE, 0, 0, 0, 0}, 0},
            {"PR_GET_MDWE", SYS_prctl, {kGetMdwe, 0, 0, 0, 0}, 0},
            {"PR_GET_MEMORY_MERGE", SYS_prctl, {kGetMemoryMerge, 0, 0, 0, 0}, 0},
            {"PR_TIMER_CREATE_RESTORE_IDS", SYS_prctl, {kTimerRestoreIds, kTimerRestoreIdsGet, 0, 0, 0}, 0},
            {"PR_FUTEX_HASH", SYS_prctl, {kFutexHash, kFutexHashGetSlots, 0, 0, 0}, 0},
#ifdef SYS_arch_prctl
            {"ARCH_GET_XCOMP_PERM", SYS_arch_prctl, {kGetFeaturePermission, kBuffer}, 8},
            {"ARCH_GET_XCOMP_GUEST_PERM", SYS_arch_prctl, {kGetGuestPermission, kBuffer}, 8},
            {"ARCH_GET_UNTAG_MASK", SYS_arch_prctl, {kGetUntagMask, kBuffer}, 8},
#endif
            {"membarrier registrations", SYS_membarrier, {kMembarrierRegistrations, 0, 0}, 0},
            {"brk", SYS_brk, {0}, 0},
#ifdef SYS_arch_prctl
            {"local descriptor table", SYS_modify_ldt, {0, kBuffer, kRoom}, 0},
#endif
            {"ITIMER_REAL", SYS_getitimer, {0, kBuffer}, 16},
            {"ITIMER_REAL left", SYS_getitimer, {0, kBuffer}, 32},
            {"ITIMER_VIRTUAL", SYS_getitimer, {1, kBuffer}, 16},
            {"ITIMER_VIRTUAL left", SYS_getitimer, {1, kBuffer}, 32},
            {"ITIMER_PROF", SYS_getitimer, {2, kBuffer}, 16},
            {"ITIMER_PROF left", SYS_getitimer, {2, kBuffer}, 32},
        };
        static std::string names[65];
        for (std::uint64_t signal = 1; signal <= 64; ++signal) {
            names[signal] = "action of signal " + std::to_string(signal);
            made.push_back({names[signal].c_str(), SYS_rt_sigaction, {signal, 0, kBuffer, 8}, 32});
        }
        return made;
    }();
    return all;
}

void ask(compel::RemoteSyscalls& calls, const compel::RemoteBuffer& buffer, const compel::RemoteMemory& memory,
         const Question& question) {
    const std::vector<std::byte> zeroes(kRoom);
    memory.write(buffer.address(), zeroes);
    compel::SyscallArguments arguments{};
    for (std::size_t i = 0; i < question.arguments.size(); ++i) {
        const std::uint64_t value = question.arguments[i];
        arguments[i] = value == kBuffer ? buffer.address() : value == kBehind ? buffer.address() + 8 : value;
    }
    const std::int64_t result = calls.call(question.number, arguments);
    std::printf("%d %s = ", calls.tracee().tid(), question.name);
    if (compel::isSyscallError(result))
        std::printf("error %lld\n", static_cast<long long>(-result));
    else if (question.answer == 0)
        std::printf("%llx\n", static_cast<unsigned long long>(result));
    else {
        std::vector<std::byte> answer(question.answer);
        memory.read(buffer.address(), answer);
        for (const std::byte byte : answer)
            std::printf("%02x", static_cast<unsigned>(byte));
        std::printf("\n");
    }
}

// Prints the siginfo of pending signals, in the order of the queue.
void showPending(const compel::Tracee& tracee, compel::SignalQueue queue, const char* name) {
    int number = 0;
    for (const siginfo_t& info : tracee.pendingSignals(queue)) {
        std::printf("%d %s %d = signal %d code %d error %d value %llx %llx\n", tracee.tid(), name, number++,
                    info.si_signo, info.si_code, info.si_errno, static_cast<unsigned long long>(info.si_pid),
                    static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(info.si_value.sival_ptr)));
    }
}

// Prints the remaining time and the interval of each POSIX timer.
void showTimers(compel::RemoteSyscalls& calls, const compel::RemoteBuffer& buffer, const compel::RemoteMemory& memory) {
    std::ifstream file("/proc/" + std::to_string(calls.tracee().tid()) + "/timers");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with("ID: "))
            continue;
        const std::string name = "timer " + line.substr(4);
        ask(calls, buffer, memory,
            {name.c_str(),
             SYS_timer_gettime,
             {std::strtoull(line.c_str() + 4, nullptr, 10), kBuffer},
             sizeof(itimerspec)});
    }
}

void look(compel::FrozenProcess& process) {
    const auto instruction = process.syscallInstruction();
    for (compel::FrozenThread& thread : process.threads()) {
        const compel::Tracee& tracee = thread.tracee;
        if (const auto dispatch = tracee.userDispatch())
            std::printf("%d user dispatch = %llx %llx %llx\n", tracee.tid(),
                        static_cast<unsigned long long>(dispatch->selector),
                        static_cast<unsigned long long>(dispatch->start),
                        static_cast<unsigned long long>(dispatch->size));
        if (const auto rseq = tracee.rseq())
            std::printf("%d rseq = %llx %u %x\n", tracee.tid(), static_cast<unsigned long long>(rseq->address),
                        rseq->size, rseq->signature);
        showPending(tracee, compel::SignalQueue::Thread, "pending");
        if (tracee.tid() == process.pid())
            showPending(tracee, compel::SignalQueue::Process, "pending for the process");
        if (tracee.userDispatch())
            continue;  // the dispatch would also catch calls that are made here
        compel::RemoteSyscalls calls(thread.tracee, instruction);
        const compel::RemoteBuffer buffer(calls, kRoom);
        for (const Question& question : threadQuestions())
            ask(calls, buffer, process.memory(), question);
        if (tracee.tid() == process.pid()) {
            for (const Question& question : processQuestions())
                ask(calls, buffer, process.memory(), question);
            showTimers(calls, buffer, process.memory());
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    pid_t pid = 0;
    if (argc != 2 || std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), pid).ec != std::errc{}) {
        std::fprintf(stderr, "usage: thread_probe PID\n");
        return 2;
    }
    try {
        compel::FreezeOptions options;
        options.seize.suspendSeccomp = true;
        compel::FrozenProcess process = compel::FrozenProcess::freeze(pid, options);
        look(process);
        process.detach();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "thread_probe: %s\n", error.what());
        return 1;
    }
    return 0;
}
