// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
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

/// What sessions get from the program that they are in. All outlive them.
struct SessionContext {
    const options::Invocation& base;  ///< what configuration files and the command line say
    Log& log;
    StopRequest& stop;
    std::function<device::Subsystems()> makeDevices;  ///< the compiled-in ones, anew for each run
};

/// What is left to do when a session is over.
struct SessionEnd {
    int status = 0;                      ///< exit status of the process that served
    std::vector<std::string> command{};  ///< what that process is to become (exec_cmd), as parent of the restored root
    HostPid root{};                      ///< that root; none without a command
};

/// Exit status of a process that was asked for what can't be a request.
inline constexpr int kProtocolError = 255;

/// Serves the client of a connection: one request, and further ones after those that ask for it (keep_open). The
/// calling process is that of the request: it enters the work directory, opens the log of the request, and is the
/// parent of what is restored. Failures are the client's to hear; does not throw for them. `socket` is closed.
[[nodiscard]] SessionEnd serve(UniqueFd socket, Origin origin, const SessionContext& surroundings);

}  // namespace criu::service
