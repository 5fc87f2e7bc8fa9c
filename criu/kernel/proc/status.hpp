// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "criu/kernel/proc/procdir.hpp"

namespace criu::kernel {

/// State of a task, as the letter in "State:" of status and in field 3 of stat.
enum class TaskState : char {
    Running = 'R',
    Sleeping = 'S',
    DiskSleep = 'D',
    Stopped = 'T',
    Tracing = 't',
    Dead = 'X',
    Zombie = 'Z',
    Parked = 'P',
    Idle = 'I',
};

/// Real, effective, saved and file system id, in the order in which the kernel shows them.
struct CredentialIds {
    std::uint32_t real = 0;
    std::uint32_t effective = 0;
    std::uint32_t saved = 0;
    std::uint32_t filesystem = 0;
    friend bool operator==(const CredentialIds&, const CredentialIds&) = default;
};

/// Mask of signals: bit n-1 stands for signal n.
using SignalMask = std::uint64_t;

/// Mask of capabilities: bit n stands for capability n.
using CapabilityMask = std::uint64_t;

enum class SeccompMode : std::uint8_t { Disabled = 0, Strict = 1, Filter = 2 };

/// Fields of /proc/PID/status or /proc/PID/task/TID/status (proc_pid_status(5)). Pids are those of the /proc mount's
/// pid namespace. An optional field is unset if the kernel doesn't print it, for instance the memory of a zombie.
struct TaskStatus {
    /// Name of the task with decoded escapes. It has at most 15 bytes, and may contain any byte except NUL.
    std::string name;
    std::optional<std::uint32_t> umask;
    TaskState state{};
    pid_t tgid = 0;
    pid_t pid = 0;
    pid_t ppid = 0;
    pid_t tracerPid = 0;
    CredentialIds uid;
    CredentialIds gid;
    std::uint32_t fdSize = 0;
    std::vector<std::uint32_t> groups;
    /// Ids of the task in its pid namespaces, from the /proc mount's namespace down to the task's own. Empty if the
    /// kernel lacks CONFIG_PID_NS.
    std::vector<pid_t> nsTgid;
    std::vector<pid_t> nsPid;
    std::vector<pid_t> nsPgid;
    std::vector<pid_t> nsSid;
    /// Sizes in bytes. Unset for zombies and kernel threads.
    std::optional<std::uint64_t> vmLocked;
    std::optional<std::uint64_t> vmPinned;
    std::optional<std::uint64_t> vmRss;
    /// Present and swapped anonymous pages. Before Linux 6.16, the kernel adds its counters of each processor up only
    /// roughly.
    std::optional<std::uint64_t> rssAnonymous;
    std::optional<std::uint64_t> vmSwap;
    std::optional<std::uint64_t> hugetlbPages;
    /// False after prctl(PR_SET_THP_DISABLE).
    std::optional<bool> thpEnabled;
    std::uint32_t threads = 0;
    std::uint64_t queuedSignals = 0;
    std::uint64_t queuedSignalsLimit = 0;
    SignalMask pending = 0;
    SignalMask sharedPending = 0;
    SignalMask blocked = 0;
    SignalMask ignored = 0;
    SignalMask caught = 0;
    CapabilityMask capInheritable = 0;
    CapabilityMask capPermitted = 0;
    CapabilityMask capEffective = 0;
    CapabilityMask capBounding = 0;
    CapabilityMask capAmbient = 0;
    std::optional<bool> noNewPrivs;
    std::optional<SeccompMode> seccomp;
    std::optional<std::uint32_t> seccompFilters;
    /// Text after "Speculation_Store_Bypass:" and after "SpeculationIndirectBranch:", unchanged.
    std::optional<std::string> speculationStoreBypass;
    std::optional<std::string> speculationIndirectBranch;
    /// True if the user-mode shadow stack is enabled ("shstk" in the line kProtectionLine).
    bool shadowStack = false;
    bool shadowStackLocked = false;

    /// Returns the pid in the pid namespace of the task itself.
    [[nodiscard]] pid_t innermostPid() const noexcept { return nsPid.empty() ? pid : nsPid.back(); }
};

/// Parses the text. Throws Error if a line that every kernel prints is missing, or if a value is malformed.
[[nodiscard]] TaskStatus parseStatus(std::string_view text);

/// Reads the file "status" of a process or thread.
[[nodiscard]] TaskStatus readStatus(const ProcPid& task, ProcBuffer& buffer);

/// Reads task/TID/status below the directory of a process. Needs one open(2) less than ProcPid::thread() and
/// readStatus().
[[nodiscard]] TaskStatus readThreadStatus(const ProcPid& process, pid_t tid, ProcBuffer& buffer);

}  // namespace criu::kernel
