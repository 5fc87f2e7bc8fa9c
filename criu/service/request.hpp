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

/// Command with all its options, and its client, made from a request.
struct RequestedRun {
    options::Invocation invocation;
    UniqueFd imagesDir;  ///< owner of client.imagesDir; invalid if criu opens the directory by its path
    UniqueFd workDir;    ///< owner of client.workDir; invalid if criu opens the directory by its path
    model::Client client;
};

/// Makes a run from a request. `base` contains the settings of configuration files and of criu's command line. The
/// request overrides these settings, and the file config_file overrides the request. `socket` is criu's end of the
/// connection.
/// Opens the client's directories, and checks the descriptors that the request names. If the request is malformed or
/// forbidden to this client, throws Error and changes nothing.
[[nodiscard]] RequestedRun makeRun(const CriuReq& request, options::Command command, const options::Invocation& base,
                                   const Peer& peer, int socket);

/// Logs a warning for each field of a request that this criu doesn't know and ignores. CRIU ignores such fields without
/// a warning.
void warnOfUnknownFields(const CriuReq& request, Log& log);

/// Opens the log of a refused request in its work directory, because users of container runtimes search there for the
/// reason. Does nothing if the request names no log, or if criu can't open it.
void openClientsLog(const CriuReq& request, const Peer& peer, Log& log) noexcept;

}  // namespace criu::service
