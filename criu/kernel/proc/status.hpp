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

/// Letter of "State:" in status and of field 3 in stat.
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

/// Real, effective, saved and file system id, in the kernel's order.
struct CredentialIds {
    std::uint32_t real = 0;
    std::uint32_t effective = 0;
    std::uint32_t saved = 0;
    std::uint32_t filesystem = 0;
    friend bool operator==(const CredentialIds&, const CredentialIds&) = default;
};

/// Bit n-1 stands for signal n.
using SignalMask = std::uint64_t;

/// Bit n stands for capability n.
using CapabilityMask = std::uint64_t;

enum class SeccompMode : std::uint8_t { Disabled = 0, Strict = 1, Filter = 2 };

/// /proc/PID/status or /proc/PID/task/TID/status (proc_pid_status(5)). Ids are those of the /proc mount's namespaces.
/// Optional fields are unset if the kernel doesn't print them, for instance memory of zombies.
struct TaskStatus {
    /// Name with decoded escapes: up to 15 bytes, any except NUL.
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
    /// Ids in each nested pid namespace, from the /proc mount's namespace down to the task's. Empty without
    /// CONFIG_PID_NS.
    std::vector<pid_t> nsTgid;
    std::vector<pid_t> nsPid;
    std::vector<pid_t> nsPgid;
    std::vector<pid_t> nsSid;
    /// Sizes in bytes.
    std::optional<std::uint64_t> vmLocked;
    std::optional<std::uint64_t> vmPinned;
    std::optional<std::uint64_t> vmRss;
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
    /// Text after "Speculation_Store_Bypass:" and "SpeculationIndirectBranch:", unchanged.
    std::optional<std::string> speculationStoreBypass;
    std::optional<std::string> speculationIndirectBranch;
    /// The user-mode shadow stack is enabled ("shstk" in the line kProtectionLine).
    bool shadowStack = false;
    bool shadowStackLocked = false;

    /// Returns the pid in the task's own pid namespace.
    [[nodiscard]] pid_t innermostPid() const noexcept { return nsPid.empty() ? pid : nsPid.back(); }
};

/// Throws Error if a line that every kernel prints is missing, or a value is malformed.
[[nodiscard]] TaskStatus parseStatus(std::string_view text);

/// Reads DIR/status of a process or thread.
[[nodiscard]] TaskStatus readStatus(const ProcPid& task, ProcBuffer& buffer);

/// Reads task/TID/status below a process directory, with one open less than ProcPid::thread().
[[nodiscard]] TaskStatus readThreadStatus(const ProcPid& process, pid_t tid, ProcBuffer& buffer);

}  // namespace criu::kernel
