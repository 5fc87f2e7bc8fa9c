// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace criu::engine {

/// Scope in which criu has switched off syscall user dispatch in all threads of a process. With dispatch on, the kernel
/// would raise SIGSYS for system calls that criu makes in the threads.
class SyscallDispatchSuspension {
public:
    explicit SyscallDispatchSuspension(compel::FrozenProcess& process);
    ~SyscallDispatchSuspension();
    SyscallDispatchSuspension(const SyscallDispatchSuspension&) = delete;
    SyscallDispatchSuspension& operator=(const SyscallDispatchSuspension&) = delete;

    /// Returns the dispatch setting that a thread had before this scope. `thread`: index in the process' list of
    /// threads.
    [[nodiscard]] const std::optional<compel::UserDispatch>& of(std::size_t thread) const {
        return all_[thread].second;
    }

private:
    std::vector<std::pair<compel::Tracee*, std::optional<compel::UserDispatch>>> all_;
};

}  // namespace criu::engine
