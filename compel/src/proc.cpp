// SPDX-License-Identifier: LGPL-2.1-only
#include "proc.hpp"

#include <compel/unique_fd.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <memory>

#include "fail.hpp"

namespace compel {

namespace {

template <typename Number>
Number parseNumber(std::string_view text, int base) {
    Number value{};
    std::from_chars(text.data(), text.data() + text.size(), value, base);
    return value;
}

std::string_view firstWord(std::string_view& line) {
    const auto end = line.find(' ');
    const auto word = line.substr(0, end);
    line.remove_prefix(end == std::string_view::npos ? line.size() : end);
    const auto next = line.find_first_not_of(' ');
    line.remove_prefix(next == std::string_view::npos ? line.size() : next);
    return word;
}

/// Returns the value of the line "NAME:\tVALUE" in a status file; empty without such a line.
std::string_view statusField(std::string_view text, std::string_view name) {
    for (std::size_t at = 0; at < text.size();) {
        const auto end = std::min(text.find('\n', at), text.size());
        const auto line = text.substr(at, end - at);
        if (line.starts_with(name) && line.substr(name.size()).starts_with(":\t"))
            return line.substr(name.size() + 2);
        at = end + 1;
    }
    return {};
}

/// Returns the value of a line with a number of kB, in bytes. Returns 0 for processes without memory, which don't have
/// the line.
std::uint64_t statusBytes(std::string_view text, std::string_view name) {
    auto value = statusField(text, name);
    value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
    constexpr std::uint64_t unit = 1024;
    return parseNumber<std::uint64_t>(value, 10) * unit;
}

std::optional<MemoryRange> parseMapping(std::string_view line) {
    const auto range = firstWord(line);
    const auto dash = range.find('-');
    const auto permissions = firstWord(line);
    if (dash == std::string_view::npos || permissions.size() < 4)
        return std::nullopt;
    for (int skipped = 0; skipped < 3; ++skipped)
        firstWord(line);
    return MemoryRange{.start = parseNumber<std::uint64_t>(range.substr(0, dash), 16),
                       .end = parseNumber<std::uint64_t>(range.substr(dash + 1), 16),
                       .readable = permissions[0] == 'r',
                       .writable = permissions[1] == 'w',
                       .executable = permissions[2] == 'x',
                       .name = line};
}

}  // namespace

std::optional<std::string> readWholeFile(const std::string& path) {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return std::nullopt;
    std::string text;
    for (;;) {
        const auto before = text.size();
        text.resize(before + (before < 65536 ? 4096 : before));
        const auto count = ::read(fd.get(), text.data() + before, text.size() - before);
        if (count < 0 && errno == EINTR) {
            text.resize(before);
            continue;
        }
        if (count < 0)
            return std::nullopt;
        text.resize(before + static_cast<std::size_t>(count));
        if (count == 0)
            return text;
    }
}

std::optional<ThreadStatus> readThreadStatus(pid_t tid) {
    const auto path = join("/proc/", tid, "/status");
    const auto text = readWholeFile(path);
    if (!text && errno != ENOENT && errno != ESRCH)
        failErrno("read ", path);
    if (!text)
        return std::nullopt;
    const auto state = statusField(*text, "State");
    const auto signals = [&text](std::string_view name) {
        return parseNumber<std::uint64_t>(statusField(*text, name), 16);
    };
    return ThreadStatus{.state = state.empty() ? '?' : state.front(),
                        .process = parseNumber<pid_t>(statusField(*text, "Tgid"), 10),
                        .tracer = parseNumber<pid_t>(statusField(*text, "TracerPid"), 10),
                        .threads = parseNumber<std::size_t>(statusField(*text, "Threads"), 10),
                        .seccomp = parseNumber<int>(statusField(*text, "Seccomp"), 10) != 0,
                        .mapped = statusBytes(*text, "VmSize"),
                        .data = statusBytes(*text, "VmData"),
                        .locked = statusBytes(*text, "VmLck"),
                        .pending = signals("SigPnd") | signals("ShdPnd"),
                        .pendingForThread = signals("SigPnd"),
                        .pendingForProcess = signals("ShdPnd"),
                        .blocked = signals("SigBlk"),
                        .ignored = signals("SigIgn"),
                        .caught = signals("SigCgt")};
}

std::optional<std::size_t> countThreads(pid_t pid) {
    // The directory has links from itself, its parent and each thread (proc_task_getattr() of Linux).
    constexpr std::size_t otherLinks = 2;
    const auto path = join("/proc/", pid, "/task");
    struct stat found {};
    if (::stat(path.c_str(), &found) < 0) {
        if (errno != ENOENT && errno != ESRCH)
            failErrno("look at ", path);
        return std::nullopt;
    }
    if (found.st_nlink <= otherLinks)
        return std::nullopt;
    return found.st_nlink - otherLinks;
}

namespace {

/// Returns the thread's flags, PF_* of the kernel's <linux/sched.h>. Returns nothing if they can't be read.
std::optional<unsigned> threadFlags(pid_t tid) {
    constexpr std::size_t flagsField = 6;  // index of the flags in the fields after the name (proc_pid_stat(5))
    // Reads the file below task/. For /proc/TID/stat, the kernel would add up the times of all threads, which takes
    // seconds for thousands of threads.
    const auto text = readWholeFile(join("/proc/", tid, "/task/", tid, "/stat"));
    if (!text)
        return std::nullopt;
    std::size_t at = text->rfind(')');
    for (std::size_t field = 0; field <= flagsField && at != std::string::npos; ++field)
        at = text->find(' ', at + 1);
    if (at == std::string::npos)
        return std::nullopt;
    const std::string_view rest = std::string_view(*text).substr(at + 1);
    return parseNumber<unsigned>(rest.substr(0, rest.find(' ')), 10);
}

}  // namespace

bool isKernelWorker(pid_t tid) {
    // First queries the robust futex list: nearly every thread of a program has one, but a kernel worker thread has
    // none. get_robust_list(2) is much faster than reading a file.
    void* head = nullptr;
    std::size_t size = 0;
    if (::syscall(SYS_get_robust_list, tid, &head, &size) == 0 && head != nullptr)
        return false;
    constexpr unsigned ioWorker = 0x10;  // PF_IO_WORKER, since 6.4 PF_USER_WORKER
    constexpr unsigned userWorker = 0x4000;
    const auto flags = threadFlags(tid);
    if (!flags && errno != ENOENT && errno != ESRCH)
        failErrno("read the state of thread ", tid);
    return (flags.value_or(0) & (ioWorker | userWorker)) != 0;
}

bool isEnding(pid_t tid) {
    constexpr unsigned exiting = 0x4;  // PF_EXITING
    if (const auto flags = threadFlags(tid))
        return (*flags & exiting) != 0;
    // Checks whether the thread exists, because the read may also have failed for lack of free descriptors.
    return ::syscall(SYS_tkill, tid, 0) < 0 && errno == ESRCH;
}

bool hasNothingLeft(pid_t tid) {
    // If the thread has released its namespaces, the link has no target. The kernel releases them after memory and
    // files (do_exit() of Linux).
    char target[64];
    const auto path = join("/proc/", tid, "/task/", tid, "/ns/mnt");
    return ::readlink(path.c_str(), target, sizeof(target)) < 0 && (errno == ENOENT || errno == ESRCH);
}

std::vector<pid_t> listThreads(pid_t pid) {
    const auto path = join("/proc/", pid, "/task");
    struct Close {
        void operator()(DIR* dir) const noexcept { ::closedir(dir); }
    };
    const std::unique_ptr<DIR, Close> dir(::opendir(path.c_str()));
    if (!dir) {
        const int code = errno;
        if (code == ENOENT || code == ESRCH)
            throw TraceeGone(ESRCH, join("list the threads of process ", pid));
        failWith(code, "open ", path);
    }
    std::vector<pid_t> found;
    while (const dirent* entry = ::readdir(dir.get())) {
        const std::string_view name = entry->d_name;
        if (const auto tid = parseNumber<pid_t>(name, 10); tid > 0)
            found.push_back(tid);
    }
    return found;
}

void visitMappings(pid_t pid, const std::function<bool(const MemoryRange&)>& visit) {
    const auto path = join("/proc/", pid, "/maps");
    const auto text = readWholeFile(path);
    if (!text)
        failErrno("read ", path);
    for (std::size_t at = 0; at < text->size();) {
        const auto end = std::min(text->find('\n', at), text->size());
        const auto mapping = parseMapping(std::string_view(*text).substr(at, end - at));
        if (mapping && !visit(*mapping))
            return;
        at = end + 1;
    }
}

}  // namespace compel
