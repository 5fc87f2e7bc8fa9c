// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace criu::engine {

/// Switches syscall user dispatch off in all threads for as long as it lives: it would catch the system calls that
/// criu makes in them.
class SyscallDispatchSuspension {
public:
    explicit SyscallDispatchSuspension(compel::FrozenProcess& process);
    ~SyscallDispatchSuspension();
    SyscallDispatchSuspension(const SyscallDispatchSuspension&) = delete;
    SyscallDispatchSuspension& operator=(const SyscallDispatchSuspension&) = delete;

    /// What it was set to, by the thread's place in the process.
    [[nodiscard]] const std::optional<compel::UserDispatch>& of(std::size_t thread) const {
        return all_[thread].second;
    }

private:
    std::vector<std::pair<compel::Tracee*, std::optional<compel::UserDispatch>>> all_;
};

}  // namespace criu::engine
