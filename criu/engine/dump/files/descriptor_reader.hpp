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

/// Sets stat, link and socket family of `file` by means of `file.copy`. `task`: process that has the descriptor.
void readCopy(const kernel::ProcPid& task, files::OpenFd& file);

/// Reads the descriptors of a frozen process with stat, fdinfo and link. With several processors, threads read ahead.
class DescriptorReader {
public:
    /// Function that returns an object of the caller that stands for a file, if no copy of the file is needed; null
    /// otherwise. Gets the file with its number and fdinfo. Several threads call it at the same time.
    using Find = std::function<const void*(const files::OpenFd&)>;
    /// Function that sets OpenFd::prepared. Several threads call it at the same time, each with a different arena.
    using Prepare = std::function<void(files::OpenFd&, Arena&)>;

    /// `task` must outlive this object.
    DescriptorReader(const kernel::ProcPid& task, HostPid pid, HostPid actor, Find find, Prepare prepare);
    DescriptorReader(const DescriptorReader&) = delete;
    DescriptorReader& operator=(const DescriptorReader&) = delete;

    /// Returns the next file; null when all were returned. The result is valid until the next call. If the file
    /// couldn't be read, throws the error of the read.
    const files::OpenFd* next();
    /// Returns the result of `Find` for the file that next() has returned. If it isn't null, the file has no copy.
    [[nodiscard]] const void* found() const { return ahead_.front()->found[at_ - 1]; }

    /// Returns the arenas that own the messages in OpenFd::prepared. The arenas must outlive the messages. Call it when
    /// next() has returned null.
    [[nodiscard]] std::vector<Arena> takeArenas() { return std::move(arenas_); }

private:
    enum class State { Free, Taken, Done };
    /// Consecutive descriptors that one thread reads. Batches are small, because RLIMIT_NOFILE of criu may be low.
    struct Batch {
        std::vector<int> descriptors;
        std::vector<files::OpenFd> files;
        std::vector<const void*> found;  ///< results of `Find` for `files`
        Arena arena;
        std::exception_ptr failure;  ///< failure for the descriptor after the last one in `files`
        std::atomic<State> state = State::Free;
    };

    void announce();
    std::shared_ptr<Batch> nextBatch();
    const kernel::PidFd& process();
    void read(Batch& batch);
    bool tryRead(Batch& batch);
    Batch& current();
    void drop();

    const kernel::ProcPid& task_;
    HostPid pid_;
    HostPid actor_;
    kernel::ProcNumbers numbers_;
    std::vector<int> listed_;  ///< descriptors of `numbers_`
    bool allListed_ = false;
    Find find_;
    Prepare prepare_;
    std::once_flag opened_;  ///< see process()
    std::optional<kernel::PidFd> process_;
    std::deque<std::shared_ptr<Batch>> ahead_;  ///< batches with files that next() hasn't returned
    std::size_t announced_ = 0;                 ///< number of descriptors of `listed_` that are in batches
    std::size_t at_ = 0;                        ///< index of the file in the first batch that next() returns next
    std::vector<Arena> arenas_;
    std::mutex mutex_;
    std::condition_variable done_;
    std::optional<ThreadPool> pool_;  // last member: its threads use the other members, so it must be destroyed first
};

}  // namespace criu::engine
