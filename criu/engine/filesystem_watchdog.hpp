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

/// Filesystem watchdog: ends the calling process when one of its threads waits too long in one call to a file system.
/// The limit is `patience`, or a few seconds after a stop request. Destructors don't run, so `undo` must revert
/// changes. While criu's code is in a process of the tree, criu makes no calls to watched file systems.
///
/// Even a killed thread waits for the reply of a FUSE server that has taken its request (request_wait_answer(),
/// fs/fuse/dev.c). A tracer in this wait would keep its tasks stopped. So threads other than the tracer make calls to
/// watched file systems (compel::workBesideTracer()). When the watchdog ends the process, the tracer ends at once, and
/// the kernel resumes the tree.
///
/// Closing a descriptor also sends a request to the FUSE server. So a second process shares the descriptor table, and
/// this process can end without closing files of FUSE. The kernel kills the second process when the thread that made
/// this object ends; only the second process then waits for the server.
class FilesystemWatchdog {
public:
    /// Names of the watched file systems for messages; the key is the device number.
    using Names = std::map<dev_t, std::string>;
    /// Function that the watchdog thread calls before it ends this process. `why`: the reason.
    using Undo = std::function<void(const std::string& why)>;

    /// Starts the watchdog. Only the tracer may call this. With a `patience` of 0, the watchdog acts only after a stop
    /// request. `stop`, `log` and `names` must outlive this object.
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
    UniqueFd end_;  ///< eventfd, which is readable when the watchdog thread must end
    std::thread thread_;
};

}  // namespace criu::engine
