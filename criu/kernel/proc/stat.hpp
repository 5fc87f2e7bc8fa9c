// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/status.hpp"

namespace criu::kernel {

/// Fields of /proc/PID/stat (proc_pid_stat(5)). Without ptrace access, the kernel shows 0 for addresses and the exit
/// code, and 1 for code addresses.
struct TaskStat {
    pid_t pid = 0;
    /// Name of the task. It may contain any bytes, even parentheses and newlines.
    std::string comm;
    TaskState state{};
    pid_t ppid = 0;
    pid_t pgrp = 0;
    pid_t session = 0;
    /// Device number of the controlling terminal, in the form that decodeDevice() accepts; 0 if the task has none.
    std::int32_t ttyNumber = 0;
    /// Foreground group of the controlling terminal; -1 if the task has none.
    pid_t ttyPgrp = 0;
    /// PF_… flags of the kernel.
    std::uint32_t flags = 0;
    /// CPU time in clock ticks. For a process, this includes all threads, even ended ones.
    std::uint64_t cpuTime = 0;
    std::int64_t priority = 0;
    std::int64_t nice = 0;
    std::int64_t threads = 0;
    /// Start time in clock ticks (sysconf(_SC_CLK_TCK)) since boot.
    std::uint64_t startTime = 0;
    std::uint64_t startCode = 0;
    std::uint64_t endCode = 0;
    std::uint64_t startStack = 0;
    std::int32_t exitSignal = 0;
    std::uint32_t rtPriority = 0;
    std::uint32_t policy = 0;
    std::uint64_t startData = 0;
    std::uint64_t endData = 0;
    std::uint64_t startBrk = 0;
    std::uint64_t argStart = 0;
    std::uint64_t argEnd = 0;
    std::uint64_t envStart = 0;
    std::uint64_t envEnd = 0;
    /// Exit status in the format of waitpid(2).
    std::int32_t exitCode = 0;
};

/// Parses a stat line. Throws Error if the line is incomplete.
[[nodiscard]] TaskStat parseStat(std::string_view text);

/// Reads the file "stat" of a process or thread.
[[nodiscard]] TaskStat readStat(const ProcPid& task, ProcBuffer& buffer);

}  // namespace criu::kernel
