// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/proc/ptrace_access.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/stat.hpp"

namespace criu::kernel {

bool mayLookInto(const ProcPid& process, pid_t thread) noexcept {
    char path[32];
    *fmt::format_to_n(path, sizeof(path) - 1, "task/{}/exe", thread).out = '\0';
    // Reads this link, because the kernel makes the same check for it as for access to memory (proc_pid_readlink() in
    // fs/proc/base.c).
    char target = 0;
    return ::readlinkat(process.fd(), path, &target, sizeof(target)) >= 0;
}

YamaScope parseYamaScope(const std::optional<std::string>& text) noexcept {
    if (!text)
        return YamaScope::Classic;
    int scope = -1;
    std::from_chars(text->data(), text->data() + text->size(), scope);
    return scope >= 0 && scope < static_cast<int>(YamaScope::Nobody) ? YamaScope{scope} : YamaScope::Nobody;
}

YamaScope readYamaScope() {
    try {
        return parseYamaScope(ProcDir().readFile("sys/kernel/yama/ptrace_scope"));
    } catch (const Error& error) {
        if (error.code() != ENOENT)
            throw;
        return YamaScope::Classic;
    }
}

bool descendsFrom(const ProcDir& proc, pid_t process, pid_t ancestor) {
    ProcBuffer buffer;
    while (process != ancestor) {
        if (process <= 1)
            return false;
        process = readStat(proc.open(process), buffer).ppid;
    }
    return true;
}

}  // namespace criu::kernel
