// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/device/subsystems.hpp"
#include "criu/options/invocation.hpp"
#include "criu/service/peer.hpp"

namespace criu {
class Log;
class StopRequest;
}  // namespace criu

namespace criu::service {

/// Session context: resources that the program passes to its sessions. All must outlive the sessions.
struct SessionContext {
    const options::Invocation& base;  ///< settings of configuration files and of the command line
    Log& log;
    StopRequest& stop;
    std::function<device::Subsystems()> makeDevices;  ///< creates the built-in device subsystems for a run
    /// Maximum time until each request of a client that isn't the owner of criu; nullopt for no limit.
    std::optional<std::chrono::milliseconds> requestLimit = std::nullopt;
};

/// Work that remains after a session.
struct SessionEnd {
    int status = 0;  ///< exit status of the process that served the client
    /// Command of exec_cmd, which this process must execute as parent of the restored root.
    std::vector<std::string> command{};
    HostPid root{};  ///< root of the restored tree; 0 if there is no command
};

/// Exit status of a process after a message that isn't a valid request.
inline constexpr int kProtocolError = 255;

/// Serves the client of a connection: one request, and another one after each request with keep_open. Reports failures
/// to the client. Closes `socket`.
/// The calling process does the work: it enters the work directory, opens the log of the request, and becomes the
/// parent of the restored root.
[[nodiscard]] SessionEnd serve(UniqueFd socket, Origin origin, const SessionContext& context);

}  // namespace criu::service
