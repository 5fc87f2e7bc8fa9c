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

namespace criu::model {
class NestedPids;
struct Task;
}  // namespace criu::model

namespace criu::engine {

/// A thread of a restored process that exists while the process is still built: it creates the children that are its
/// own, since the kernel makes a child that of the thread which calls clone(2).
///
/// It has the thread-local storage of the thread that makes it, as libc doesn't know of it. So only one of the two runs
/// at a time: this one while run() is called, and in between it waits without calling anything of libc.
class EarlyThread {
public:
    /// `numbers`: what the pid namespaces of the process call the thread. Throws Error.
    explicit EarlyThread(const std::vector<pid_t>& numbers);
    EarlyThread(const EarlyThread&) = delete;
    EarlyThread& operator=(const EarlyThread&) = delete;

    /// Has the thread do something, waits for its end, and throws what it throws. A process that it forks has no part
    /// in this object: it has to leave by itself.
    void run(const std::function<void()>& work);

    /// The thread blocks all signals and goes to the interpreter at `entry` with a program and a stack (pie::enter());
    /// it uses nothing of this program from when that program runs.
    void enter(std::uint64_t entry, std::uint64_t program, std::uint64_t stackTop) noexcept;

private:
    enum Order : std::uint32_t { Wait, Run, Enter };

    [[noreturn]] static void live(std::uint64_t self) noexcept;
    void give(Order order) noexcept;

    Mapping stack_;
    std::uint32_t order_ = Wait;  ///< futex
    const std::function<void()>* work_ = nullptr;
    std::exception_ptr failure_;
    std::uint64_t entry_ = 0;
    std::uint64_t program_ = 0;
    std::uint64_t programStack_ = 0;
};

/// Those of a process.
using EarlyThreads = std::map<TreePid, std::unique_ptr<EarlyThread>>;

/// Makes the threads that model::earlyThreads() tells. Throws Error.
[[nodiscard]] EarlyThreads makeEarlyThreads(const model::Task& task, const model::NestedPids& nested);

}  // namespace criu::engine
