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

/// Ends the calling process when one of its threads waits too long in one call to a file system. Too long is
/// `patience`, or a few seconds after a stop request. Destructors don't run, so the watchdog is only for waits that
/// nothing else ends. criu makes no such calls while its code is in a process of the tree.
///
/// When a FUSE server has taken a request, the kernel lets even a killed thread wait for the reply
/// (request_wait_answer(), fs/fuse/dev.c). A tracer in that state would keep its tasks stopped. So the tracer makes no
/// such calls (compel::workBesideTracer()). The tracer ends at once, and the kernel resumes the tree. The process stays
/// a zombie until its other threads end; no process waits for that.
///
/// Closing a descriptor also sends a request to the server. A second process therefore shares the descriptor table, so
/// that this process closes none of these files (files::FileCopy). The second process is killed when the thread that
/// made this object ends. It closes the files then, however long that takes.
class FilesystemWatchdog {
public:
    /// Names of the file systems in messages.
    using Names = std::map<dev_t, std::string>;
    /// Function that the watchdog thread calls with the reason, before it ends this process.
    using Undo = std::function<void(const std::string& why)>;

    /// Starts the watchdog. The tracer calls this. With a `patience` of 0 only a stop request ends the wait. All
    /// arguments but `undo` outlive this object.
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
    UniqueFd end_;  ///< eventfd; readable when the watchdog thread must end
    std::thread thread_;
};

}  // namespace criu::engine
