// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

/// The small files of /proc/PID, one value each. Readers of files that a kernel may be built without return nothing
/// when the file isn't there.
namespace criu::kernel {

/// Pairs of AT_… and value up to and with AT_NULL, as the kernel stores them (proc_pid_auxv(5)).
[[nodiscard]] std::vector<std::uint64_t> parseAuxv(std::string_view bytes);
[[nodiscard]] std::vector<std::uint64_t> readAuxv(const ProcPid& process);

/// Arguments separated by NUL; empty for zombies and kernel threads.
[[nodiscard]] std::string readCmdline(const ProcPid& process);

/// Name of a thread without the newline the file ends with: up to 15 bytes, any but NUL.
[[nodiscard]] std::string readComm(const ProcPid& task);

/// Nothing for zombies and kernel threads, which have none.
[[nodiscard]] std::optional<std::string> readExe(const ProcPid& process);

/// Login uid of the audit subsystem; 0xffffffff when never set.
[[nodiscard]] std::optional<std::uint32_t> readLoginUid(const ProcPid& process);

/// -1000 … 1000.
[[nodiscard]] int readOomScoreAdj(const ProcPid& process);

/// As personality(2) returns it.
[[nodiscard]] std::uint32_t readPersonality(const ProcPid& task);

/// Bits of core(5); nothing for tasks without memory too.
[[nodiscard]] std::optional<std::uint32_t> readCoredumpFilter(const ProcPid& process);

/// PR_SET_TIMERSLACK's value. Nothing on kernels before 4.6.
[[nodiscard]] std::optional<std::uint64_t> readTimerSlack(const ProcPid& task);

struct Autogroup {
    std::int64_t id = 0;
    int nice = 0;
};
[[nodiscard]] std::optional<Autogroup> parseAutogroup(std::string_view text);
[[nodiscard]] std::optional<Autogroup> readAutogroup(const ProcPid& process);

/// A line of /proc/PID/cgroup (cgroups(7)).
struct CgroupLine {
    /// 0 for the unified hierarchy.
    std::uint32_t hierarchy = 0;
    /// Names, "name=…" for hierarchies without a controller; empty in the unified hierarchy.
    std::vector<std::string> controllers;
    /// Relative to the reader's cgroup namespace root; may begin with "/..", may end in " (deleted)".
    std::string path;
};
[[nodiscard]] std::vector<CgroupLine> parseCgroups(std::string_view text);
[[nodiscard]] std::vector<CgroupLine> readCgroups(const ProcPid& task, ProcBuffer& buffer);

}  // namespace criu::kernel
