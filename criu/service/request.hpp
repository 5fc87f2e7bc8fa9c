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

/// What a request comes to: a command with all its options, and who it is for.
struct RequestedRun {
    options::Invocation invocation;
    UniqueFd imagesDir;  ///< what client.imagesDir and client.workDir are; not open if criu opens them by path
    UniqueFd workDir;
    model::Client client;
};

/// Makes a run of a request. `base`: what configuration files and the command line of criu say; the request comes on
/// top of it, and what its config_file says on top of that. `socket`: criu's end of the connection. Opens the
/// directories of the client, and looks whether the descriptors that it refers to exist. Throws Error for requests that
/// are malformed, or ask for what this client may not have; nothing has been done then.
[[nodiscard]] RequestedRun makeRun(const CriuReq& request, options::Command command, const options::Invocation& base,
                                   const Peer& peer, int socket);

/// Opens the log that a request wants, in its work directory, for the reason why nothing else is done for it: users of
/// runtimes look there. Does nothing if the request doesn't say where, or that can't be.
void openClientsLog(const CriuReq& request, const Peer& peer, Log& log) noexcept;

}  // namespace criu::service
