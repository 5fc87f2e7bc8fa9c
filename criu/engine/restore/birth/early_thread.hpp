// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"
#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Thread of a restored process that must create children. criu creates it before the restorer runs, because the kernel
/// makes the thread that calls clone(2) the parent of a child.
///
/// libc didn't create the early thread, so this thread shares the thread-local storage of its creator. Only one of the
/// two may use libc at a time: the early thread during run(), and the creator at all other times.
class EarlyThread {
public:
    /// `numbers`: tids of the thread in the pid namespaces of the process. Throws Error.
    explicit EarlyThread(const std::vector<pid_t>& numbers);
    EarlyThread(const EarlyThread&) = delete;
    EarlyThread& operator=(const EarlyThread&) = delete;

    /// Makes the early thread execute `work`, waits for the end of `work`, and throws its exception. If `work` forks,
    /// the new process must not return from `work`.
    void run(const std::function<void()>& work);

    /// Makes the thread block all signals and jump to the interpreter at `entry` with a program and a stack
    /// (pie::enter()). After this call, the thread uses no code or data of criu.
    void enter(std::uint64_t entry, std::uint64_t program, std::uint64_t stackTop) noexcept;

private:
    enum State : std::uint32_t { Wait, Run, Enter };

    [[noreturn]] static void serve(std::uint64_t self) noexcept;
    void setState(State state) noexcept;

    Mapping stack_;
    std::uint32_t state_ = Wait;  ///< futex with the State
    const std::function<void()>* work_ = nullptr;
    std::exception_ptr failure_;
    std::uint64_t entry_ = 0;
    std::uint64_t program_ = 0;
    std::uint64_t programStack_ = 0;
};

/// Early threads of one process.
using EarlyThreads = std::map<TreePid, std::unique_ptr<EarlyThread>>;

/// Creates the threads that model::earlyThreads() lists. Throws Error.
[[nodiscard]] EarlyThreads makeEarlyThreads(const model::Task& task, const model::NestedPids& nested);

}  // namespace criu::engine
