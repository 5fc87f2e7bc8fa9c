// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

/// Readers of the small files of /proc/PID. A reader that returns std::optional returns nullopt if the file doesn't
/// exist.
namespace criu::kernel {

/// Returns pairs of an AT_… type and its value, up to and including AT_NULL (proc_pid_auxv(5)).
[[nodiscard]] std::vector<std::uint64_t> parseAuxv(std::string_view bytes);
[[nodiscard]] std::vector<std::uint64_t> readAuxv(const ProcPid& process);

/// Returns the login uid of the audit subsystem; 0xffffffff if it was never set.
[[nodiscard]] std::optional<std::uint32_t> readLoginUid(const ProcPid& process);

/// Returns the OOM score adjustment, from -1000 to 1000.
[[nodiscard]] int readOomScoreAdj(const ProcPid& process);

/// Returns the mask of mapping types in core dumps (core(5)). Returns nullopt if the file doesn't exist, or for a task
/// without memory.
[[nodiscard]] std::optional<std::uint32_t> readCoredumpFilter(const ProcPid& process);

struct Autogroup {
    std::int64_t id = 0;
    int nice = 0;
};
[[nodiscard]] std::optional<Autogroup> parseAutogroup(std::string_view text);
[[nodiscard]] std::optional<Autogroup> readAutogroup(const ProcPid& process);

/// Line of /proc/PID/cgroup (cgroups(7)).
struct CgroupLine {
    /// Hierarchy id; 0 for the unified hierarchy.
    std::uint32_t hierarchy = 0;
    /// Controller names, or "name=…" for a hierarchy without controllers. Empty in the unified hierarchy.
    std::vector<std::string> controllers;
    /// Path relative to the root of the reader's cgroup namespace. It may begin with "/.." and end with " (deleted)".
    std::string path;
};
[[nodiscard]] std::vector<CgroupLine> parseCgroups(std::string_view text);
[[nodiscard]] std::vector<CgroupLine> readCgroups(const ProcPid& task, ProcBuffer& buffer);

}  // namespace criu::kernel
