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

/// Fills what is to be known of a file that has a copy: status, link and family. `task`: the process of the descriptor.
void readCopy(const kernel::ProcPid& task, files::OpenFd& file);

/// The descriptors of a stopped process, one after the other, with what the kernel says of them. With several cores
/// threads read ahead of the one that takes them.
class DescriptorReader {
public:
    /// Looks at the file of descriptors[index], of which number and fdinfo are known. False: nothing more is to be read
    /// of it. Called by several threads at once.
    using Wanted = std::function<bool(const files::OpenFd&, std::size_t index)>;
    /// Fills OpenFd::prepared. Called by several threads at once, each with another arena.
    using Prepare = std::function<void(files::OpenFd&, Arena&)>;

    /// `task` and `descriptors` must outlive this.
    DescriptorReader(const kernel::ProcPid& task, HostPid pid, const std::vector<int>& descriptors, Wanted wanted,
                     Prepare prepare);
    DescriptorReader(const DescriptorReader&) = delete;
    DescriptorReader& operator=(const DescriptorReader&) = delete;

    /// The next one, valid until the next call; null behind the last. Throws what reading it has thrown. A file that
    /// isn't wanted has no copy.
    const files::OpenFd* next();

    /// What prepared messages live in: to be kept as long as they are needed. After the last file.
    [[nodiscard]] std::vector<Arena> takeArenas() { return std::move(arenas_); }

private:
    enum class State { Free, Taken, Done };
    /// Some descriptors in a row, read by one thread. Few at a time have copies in criu, whose own limit may be low.
    struct Batch {
        std::size_t first = 0;
        std::vector<files::OpenFd> files;
        Arena arena;
        std::exception_ptr failure;  ///< of the file behind the last
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
    std::deque<std::shared_ptr<Batch>> ahead_;  ///< jobs of threads have them, too
    std::size_t announced_ = 0;                 ///< descriptors that are in batches, or were
    std::size_t at_ = 0;                        ///< in the first batch
    std::vector<Arena> arenas_;
    std::mutex mutex_;
    std::condition_variable done_;
    std::optional<ThreadPool> pool_;  // gone before what its jobs use
};

}  // namespace criu::engine
