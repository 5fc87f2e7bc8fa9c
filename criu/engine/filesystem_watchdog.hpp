// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <thread>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu::engine {

class FrozenPhase;

/// Ends the calling process as soon as one of its threads has been in one call to a file system for too long:
/// `patience`, or a few seconds if a stop has been asked for. Destructors don't run; so this is for where nothing else
/// ends the wait. Such calls aren't made while code of criu is in a process of the tree.
///
/// From a request that a FUSE server has taken the kernel lets not even a killed thread out before it is answered
/// (fs/fuse/dev.c, request_wait_answer()), and such a thread goes on tracing. So the thread that traces makes no such
/// call (compel::workBesideTracer()). It ends at once, and the kernel lets the tree go on, while the process may remain
/// for as long as its other thread does; nobody waits for that.
///
/// To close a descriptor asks the server as well. None of such files is closed by this process (files::FileCopy): a
/// second process shares the table of descriptors, and is ended with the thread that has made this object. Then it
/// closes them, for as long as that takes.
class FilesystemWatchdog {
public:
    /// What these file systems are called in messages.
    using Names = std::map<dev_t, std::string>;
    /// Is called, in another thread, before this process is ended: with the reason, for whoever has to know.
    using Undo = std::function<void(const std::string& why)>;

    /// By the thread that traces. `patience` 0: only a stop ends the waiting. All arguments but `undo` outlive this
    /// object.
    FilesystemWatchdog(std::chrono::seconds patience, StopRequest& stop, Log& log, const Names& names, Undo undo);
    ~FilesystemWatchdog();
    FilesystemWatchdog(const FilesystemWatchdog&) = delete;
    FilesystemWatchdog& operator=(const FilesystemWatchdog&) = delete;

private:
    void run() noexcept;
    [[nodiscard]] std::string nameFor(const std::string& call) const;
    [[noreturn]] void end(const std::string& call);

    std::chrono::seconds patience_;
    StopRequest& stop_;
    Log& log_;
    const Names& names_;
    Undo undo_;
    UniqueFd end_;  ///< an eventfd; readable when the watch is to end
    std::thread thread_;
};

}  // namespace criu::engine
