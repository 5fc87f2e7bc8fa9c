// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <set>
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
    /// Those there are in the mount namespaces of the tree.
    [[nodiscard]] const std::set<dev_t>& devices() const noexcept { return devices_; }
    /// Asks each of them that is used for something and returns when all have answered. Where one doesn't, an
    /// AnswerWatch ends this process.
    void requireAnswers() const;

private:
    bool used_ = false;
    std::set<dev_t> devices_;
    std::map<dev_t, UniqueFd> samples_;  ///< O_PATH descriptors of a file on each
};

/// Ends the calling process as soon as one of its threads has been in one call to a file system for too long:
/// `patience`, or a few seconds if a stop has been asked for. The kernel then lets the tree go on, since nobody traces
/// it any more. Destructors don't run; so this is for where nothing else ends the wait. Such calls aren't made while
/// code of criu is in a process of the tree.
///
/// To close a descriptor of such a file asks the server as well, and not even a killed thread gets out of that wait, in
/// which it goes on tracing (fuse_flush()). So none is closed by this process (files::FileCopy): a second process
/// shares the table of descriptors, and is ended with the thread that has made this object. Then it closes them, for as
/// long as that takes, and nobody waits for it.
class AnswerWatch {
public:
    /// `patience` 0: only a stop ends the waiting. `undo`: is called, in another thread, before this process is ended.
    /// All arguments outlive this object.
    AnswerWatch(std::chrono::seconds patience, StopRequest& stop, Log& log, std::function<void()> undo);
    ~AnswerWatch();
    AnswerWatch(const AnswerWatch&) = delete;
    AnswerWatch& operator=(const AnswerWatch&) = delete;

private:
    void run() noexcept;

    std::chrono::seconds patience_;
    StopRequest& stop_;
    Log& log_;
    std::function<void()> undo_;
    UniqueFd end_;  ///< an eventfd; readable when the watch is to end
    std::thread thread_;
};

}  // namespace criu::engine
