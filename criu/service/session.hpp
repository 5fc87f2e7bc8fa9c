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

/// Resources of the program for its sessions. All must outlive them.
struct SessionContext {
    const options::Invocation& base;  ///< settings of configuration files and the command line
    Log& log;
    StopRequest& stop;
    std::function<device::Subsystems()> makeDevices;  ///< makes the built-in subsystems for each run
};

/// Remaining work after a session.
struct SessionEnd {
    int status = 0;                      ///< exit status of the process that served
    std::vector<std::string> command{};  ///< command to execute (exec_cmd) as parent of the restored root
    HostPid root{};                      ///< the restored root; none without a command
};

/// Exit status after a message that isn't a valid request.
inline constexpr int kProtocolError = 255;

/// Serves the client of a connection: one request, and further ones after those with keep_open. The calling process
/// does the work: it enters the work directory, opens the log of the request, and becomes the parent of the restored
/// root. Reports failures to the client instead of throwing. Closes `socket`.
[[nodiscard]] SessionEnd serve(UniqueFd socket, Origin origin, const SessionContext& context);

}  // namespace criu::service
