// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "criu/base/thread_pool.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::engine {

/// Sets status, link and socket family of a file that has a copy. `task` is the process of the descriptor.
void readCopy(const kernel::ProcPid& task, files::OpenFd& file);

/// Reads the descriptors of a frozen process, and what the kernel reports of each. With several processors, threads
/// read ahead.
class DescriptorReader {
public:
    /// Returns false if the file of descriptors[index] needs no more reading. Number and fdinfo of the file are set.
    /// Called by several threads at once.
    using Wanted = std::function<bool(const files::OpenFd&, std::size_t index)>;
    /// Sets OpenFd::prepared. Called by several threads at once, each with its own arena.
    using Prepare = std::function<void(files::OpenFd&, Arena&)>;

    /// `task` and `descriptors` must outlive this object.
    DescriptorReader(const kernel::ProcPid& task, HostPid pid, const std::vector<int>& descriptors, Wanted wanted,
                     Prepare prepare);
    DescriptorReader(const DescriptorReader&) = delete;
    DescriptorReader& operator=(const DescriptorReader&) = delete;

    /// Returns the next file; null after the last. The result is valid until the next call. Throws the exception of its
    /// reading. A file that `Wanted` rejected has no copy.
    const files::OpenFd* next();

    /// Returns the arenas of prepared messages, which must outlive the messages. Call it after the last file.
    [[nodiscard]] std::vector<Arena> takeArenas() { return std::move(arenas_); }

private:
    enum class State { Free, Taken, Done };
    /// Consecutive descriptors that one thread reads. Batches are small, because RLIMIT_NOFILE of criu may be low.
    struct Batch {
        std::size_t first = 0;
        std::vector<files::OpenFd> files;
        Arena arena;
        std::exception_ptr failure;  ///< failure at the file after the last one in `files`
        std::atomic<State> state = State::Free;
    };

    void announce();
    void read(Batch& batch);
    bool tryRead(Batch& batch);
    Batch& current();
    void drop();

    const kernel::ProcPid& task_;
    HostPid pid_;
    const std::vector<int>& descriptors_;
    Wanted wanted_;
    Prepare prepare_;
    kernel::PidFd process_;
    std::deque<std::shared_ptr<Batch>> ahead_;  ///< jobs of threads hold these, too
    std::size_t announced_ = 0;                 ///< number of descriptors that were put in batches
    std::size_t at_ = 0;                        ///< position in the first batch
    std::vector<Arena> arenas_;
    std::mutex mutex_;
    std::condition_variable done_;
    std::optional<ThreadPool> pool_;  // destroyed first, because its jobs use the other members
};

}  // namespace criu::engine
