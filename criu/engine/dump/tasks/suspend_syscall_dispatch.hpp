// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <compel/process.hpp>
#include <compel/tracee.hpp>

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace criu::engine {

/// Switches syscall user dispatch off in all threads while this object lives. Otherwise it would catch system calls
/// that criu makes in them.
class SyscallDispatchSuspension {
public:
    explicit SyscallDispatchSuspension(compel::FrozenProcess& process);
    ~SyscallDispatchSuspension();
    SyscallDispatchSuspension(const SyscallDispatchSuspension&) = delete;
    SyscallDispatchSuspension& operator=(const SyscallDispatchSuspension&) = delete;

    /// Returns the setting of a thread before that, by its position in the process.
    [[nodiscard]] const std::optional<compel::UserDispatch>& of(std::size_t thread) const {
        return all_[thread].second;
    }

private:
    std::vector<std::pair<compel::Tracee*, std::optional<compel::UserDispatch>>> all_;
};

}  // namespace criu::engine
