// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <thread>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/frozen_tree.hpp"

/// File systems for which a process answers (FUSE). One of the frozen tree would never answer again, and any other may
/// stop at any time, while the tree stands still and criu waits in a system call that no signal but SIGKILL ends.
namespace criu::engine {

/// Such file systems that processes of the tree use: open files, mappings, directories, programs, or a mount in a mount
/// namespace that isn't criu's.
class FileServers {
public:
    /// Nothing that is done here has the kernel ask a server. Throws Error if a server may be one of the tree: if one
    /// of its processes has /dev/fuse open.
    explicit FileServers(FrozenTree& tree);

    [[nodiscard]] bool used() const noexcept { return used_; }
    /// Asks each of them for something and returns when all have answered. Where one doesn't, an AnswerWatch ends this
    /// process. Once descriptors of such files are held that aren't O_PATH, nothing would: closing them asks the server
    /// as well, and that is waited for even by a process that ends.
    void requireAnswers() const;

private:
    bool used_ = false;
    std::map<dev_t, UniqueFd> samples_;  ///< O_PATH descriptors of a file on each
};

/// Ends the calling process as soon as one of its threads has been in one call to a file system for too long:
/// `patience`, or a few seconds if a stop has been asked for. The kernel then lets the tree go on, since nobody traces
/// it any more. What destructors would have undone stays; so this is for where nothing else ends the wait. Such calls
/// aren't made while code of criu is in a process of the tree.
class AnswerWatch {
public:
    /// `patience` 0: only a stop ends the waiting. All arguments outlive this object.
    AnswerWatch(std::chrono::seconds patience, StopRequest& stop, Log& log);
    ~AnswerWatch();
    AnswerWatch(const AnswerWatch&) = delete;
    AnswerWatch& operator=(const AnswerWatch&) = delete;

private:
    void run() noexcept;

    std::chrono::seconds patience_;
    StopRequest& stop_;
    Log& log_;
    UniqueFd end_;  ///< an eventfd; readable when the watch is to end
    std::thread thread_;
};

}  // namespace criu::engine
