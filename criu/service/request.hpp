// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/unique_fd.hpp"
#include "criu/model/client.hpp"
#include "criu/options/invocation.hpp"
#include "criu/service/peer.hpp"
#include "images/rpc.hpp"

namespace criu {
class Log;
}

namespace criu::service {

/// A command with all options, and its client, made from a request.
struct RequestedRun {
    options::Invocation invocation;
    UniqueFd imagesDir;  ///< owner of client.imagesDir; not open if criu opens the path
    UniqueFd workDir;    ///< owner of client.workDir; not open if criu opens the path
    model::Client client;
};

/// Makes a run from a request. `base` has the settings of configuration files and criu's command line; the request
/// overrides them, and its config_file overrides the request. `socket` is criu's end of the connection. Opens the
/// client's directories, and checks the descriptors that the request names. Throws Error without effects if the
/// request is malformed or forbidden to this client.
[[nodiscard]] RequestedRun makeRun(const CriuReq& request, options::Command command, const options::Invocation& base,
                                   const Peer& peer, int socket);

/// Warns of each field of a request that this criu doesn't know, and ignores. CRIU ignores it silently.
void warnOfUnknownFields(const CriuReq& request, Log& log);

/// Opens the log of a refused request in its work directory, because users of container runtimes look for the reason
/// there. Does nothing if the request names no log or criu can't open it.
void openClientsLog(const CriuReq& request, const Peer& peer, Log& log) noexcept;

}  // namespace criu::service
