// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/confined_process.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/printable.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/interface.hpp"
#include "criu/kernel/landlock.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {
namespace {

/// Bytes that a confined process can allocate. Decoders need less: a block of compressed memory has at most 4 MiB, and
/// libarchive keeps the headers and the list of holes of one file.
constexpr std::uint64_t kMostAllocated = std::uint64_t{512} << 20;
/// Maximum bytes of an error message that criu takes from a confined process.
constexpr std::size_t kLongestMessage = 4096;

/// Calls that decoding needs. The process can use only its descriptors with them.
constexpr std::uint32_t kAllowed[] = {
    SYS_read, SYS_write,   SYS_pread64,       SYS_pwrite64,  SYS_lseek,      SYS_munmap, SYS_mremap,
    SYS_brk,  SYS_madvise, SYS_clock_gettime, SYS_getrandom, SYS_exit_group, SYS_exit,   SYS_preadv,
};
/// Call that is allowed if one argument has none of some bits.
struct LimitedCall {
    std::uint32_t number;
    unsigned argument;
    std::uint32_t forbidden;
};
/// Memory without PROT_EXEC, and FUTEX_WAIT and FUTEX_WAKE of futex(2), which pthread_once(3) uses. The other
/// operations of futex(2) are more complicated, and had faults that gave root's rights (CVE-2014-3153).
constexpr LimitedCall kLimited[] = {{SYS_mmap, 2, PROT_EXEC},
                                    {SYS_mprotect, 2, PROT_EXEC},
                                    {SYS_futex, 1, ~static_cast<std::uint32_t>(FUTEX_WAKE | FUTEX_PRIVATE_FLAG)}};
/// Calls that fail with EACCES instead of killing the process: libc's iconv(3) tries to open files, and works without.
constexpr std::uint32_t kRefused[] = {SYS_openat, SYS_newfstatat, SYS_readlinkat, SYS_fstat};

constexpr std::uint32_t argumentOffset(unsigned index) {
    return static_cast<std::uint32_t>(offsetof(seccomp_data, args) + index * sizeof(std::uint64_t));
}

/// Makes the seccomp filter of a confined process. All supported processors are little-endian, so the low half of an
/// argument comes first.
std::vector<sock_filter> makeFilter() {
    constexpr auto load = [](std::size_t offset) {
        return sock_filter{BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<std::uint32_t>(offset)};
    };
    constexpr auto answer = [](std::uint32_t action) { return sock_filter{BPF_RET | BPF_K, 0, 0, action}; };
    // Skips `then` instructions unless the loaded number is `number`.
    constexpr auto unlessIs = [](std::uint32_t number, std::uint8_t then) {
        return sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 0, then, number};
    };
    std::vector<sock_filter> filter{load(offsetof(seccomp_data, arch)),
                                    {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kAuditArch},
                                    answer(SECCOMP_RET_KILL_PROCESS),
                                    load(offsetof(seccomp_data, nr))};
    for (const std::uint32_t number : kAllowed)
        filter.insert(filter.end(), {unlessIs(number, 1), answer(SECCOMP_RET_ALLOW)});
    for (const std::uint32_t number : kRefused)
        filter.insert(filter.end(), {unlessIs(number, 1), answer(SECCOMP_RET_ERRNO | EACCES)});
    for (const LimitedCall& call : kLimited)
        filter.insert(filter.end(), {unlessIs(call.number, 4), load(argumentOffset(call.argument)),
                                     sock_filter{BPF_JMP | BPF_JSET | BPF_K, 0, 1, call.forbidden},
                                     answer(SECCOMP_RET_KILL_PROCESS), answer(SECCOMP_RET_ALLOW)});
    filter.push_back(answer(SECCOMP_RET_KILL_PROCESS));
    return filter;
}

/// Closes all descriptors except `kept`.
void closeOthers(std::vector<int> kept) {
    std::sort(kept.begin(), kept.end());
    unsigned from = 0;
    for (const int fd : kept) {
        if (const auto number = static_cast<unsigned>(fd); number > from)
            sys(::syscall(SYS_close_range, from, number - 1, 0), "close descriptors");
        from = static_cast<unsigned>(fd) + 1;
    }
    sys(::syscall(SYS_close_range, from, ~0U, 0), "close descriptors");
}

/// Unmaps memory that the calling process could change for criu, such as that of decoded records. mprotect(2) can make
/// a read-only shared mapping writable, unless its file is open only for reading (VM_MAYWRITE). Returns the bytes of
/// all other memory.
std::uint64_t unmapShared() {
    std::uint64_t rest = 0;
    for (const Vma& vma : readMaps(ProcDir().self())) {
        void* const start = reinterpret_cast<void*>(vma.start);
        if (vma.shared && ::mprotect(start, vma.size(), PROT_READ | PROT_WRITE) == 0)
            sys(::munmap(start, vma.size()), "unmap shared memory");
        else
            rest += vma.size();
    }
    return rest;
}

/// Limits the memory of the calling process to `bytes`. RLIMIT_DATA wouldn't cover shared memory.
void limitMemory(std::uint64_t bytes) {
    rlimit limit{};
    sys(::getrlimit(RLIMIT_AS, &limit), "read the limit of memory");
    limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(limit.rlim_max, bytes);
    sys(::setrlimit(RLIMIT_AS, &limit), "lower the limit of memory");
}

/// Confines the calling process, which must have one thread. Throws Error.
void confine(std::vector<int> kept) {
    limitMemory(unmapShared() + kMostAllocated);
    closeOthers(std::move(kept));
    // Prevents core files: the kernel writes none of an undumpable process.
    sys(::prctl(PR_SET_DUMPABLE, 0), "become undumpable");
    sys(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "set no_new_privs");
    (void)enterEmptyDomain();
    const rlimit none{0, 0};
    sys(::setrlimit(RLIMIT_NOFILE, &none), "lower the limit of descriptors");
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    const __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
    sys(::syscall(SYS_capset, &header, data), "drop all capabilities");
    std::vector<sock_filter> filter = makeFilter();
    const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
    sys(::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program), "set a seccomp filter");
}

/// Sends a message to the other end of `problems`, and ends the process.
[[noreturn]] void endWith(int problems, std::string_view text) noexcept {
    (void)!::write(problems, text.data(), std::min(text.size(), kLongestMessage));
    ::_exit(1);
}

/// Body of the confined process. Sends the message of an exception to `problems`.
[[noreturn]] void workConfined(pid_t parent, std::span<const int> descriptors, int problems,
                               const std::function<void()>& work) {
    try {
        const NoOuterContexts own;
        sys(::prctl(PR_SET_PDEATHSIG, SIGKILL), "end with criu");
        if (::getppid() != parent)
            ::_exit(1);
        // A handler would make forbidden calls, and hide the signal of a crash.
        for (int number = 1; number < NSIG; ++number)
            (void)::signal(number, SIG_DFL);
        std::vector<int> kept(descriptors.begin(), descriptors.end());
        kept.push_back(problems);
        confine(std::move(kept));
        work();
        ::_exit(0);
    } catch (const std::bad_alloc&) {
        endWith(problems, "the confined process needs more memory than it may allocate");
    } catch (const std::exception& error) {
        endWith(problems, error.what());
    }
}

/// Kills the process and reaps it, unless it was reaped.
class ConfinedChild {
public:
    explicit ConfinedChild(pid_t pid) noexcept : pid_(pid) {}
    ~ConfinedChild() {
        if (pid_ <= 0)
            return;
        ::kill(pid_, SIGKILL);
        (void)reap();
    }
    ConfinedChild(const ConfinedChild&) = delete;
    ConfinedChild& operator=(const ConfinedChild&) = delete;

    /// Waits for the end. Returns the status of waitpid(2); nullopt if the kernel has reaped the process, because the
    /// caller ignores SIGCHLD.
    std::optional<int> reap() noexcept {
        int status = 0;
        pid_t reaped = 0;
        while ((reaped = ::waitpid(pid_, &status, 0)) < 0 && errno == EINTR)
            continue;
        pid_ = 0;
        return reaped < 0 ? std::nullopt : std::optional(status);
    }

private:
    pid_t pid_;
};

/// Reads the message of a confined process up to the end of the pipe, which is the end of the process. Throws Error if
/// a stop is requested.
std::string readMessage(int from, StopRequest& stop) {
    std::string text;
    for (;;) {
        pollfd events[] = {{from, POLLIN, 0}, {stop.fd(), POLLIN, 0}};
        if (::poll(events, std::size(events), -1) < 0 && errno != EINTR)
            failErrno("wait for a confined process");
        stop.throwIfRequested();
        if (events[0].revents == 0)
            continue;
        std::array<char, kLongestMessage> part;
        const ssize_t got = ::read(from, part.data(), part.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (sys(got, "read from a confined process") == 0)
            return text;
        text.append(part.data(), std::min(static_cast<std::size_t>(got), kLongestMessage - text.size()));
    }
}

}  // namespace

void requireConfinement() {
    const std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
    if (::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0)
        return;
    Error error(errno, "confine the processes that decode untrusted images");
    error.addHint("the kernel needs seccomp filters (CONFIG_SECCOMP_FILTER)");
    throw error;
}

void runConfined(std::string_view what, std::span<const int> descriptors, StopRequest& stop,
                 const std::function<void()>& work) {
    int ends[2];
    sys(::pipe2(ends, O_CLOEXEC), "make a pipe");
    const UniqueFd in(ends[0]);
    UniqueFd out(ends[1]);
    const pid_t parent = ::getpid();
    const pid_t pid = sys(::fork(), "create a confined process");
    if (pid == 0)
        workConfined(parent, descriptors, out.get(), work);
    ConfinedChild child(pid);
    out.reset();
    const std::string text = readMessage(in.get(), stop);
    const std::optional<int> ended = child.reap();
    const ErrorContext context([&] { return std::string(what); });
    if (!ended)
        fail("the result of the confined process is unknown");
    const int status = *ended;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) {
        Error error(0, "the kernel killed the confined process, because it made a forbidden system call");
        error.addHint("the data may attack the decoder");
        throw error;
    }
    if (WIFSIGNALED(status))
        fail("the confined process was killed by signal {}", WTERMSIG(status));
    fail("{}", text.empty() ? "the confined process ended without a message" : printable(text));
}

}  // namespace criu::kernel
