// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/unique_fd.hpp"

namespace criu {
class StopRequest;
}

namespace criu::model {
struct Options;
}

/// The two ends of a connection to a page server, as options describe it.
namespace criu::engine {

/// The sender's: what --ps-socket names, or a new connection to --address and --port. Throws Error.
[[nodiscard]] UniqueFd connectToPageServer(const model::Options& options);

/// The server's socket, which listens at --address and --port. Throws Error.
struct ListeningPageServer {
    UniqueFd socket;
    std::uint16_t port = 0;  ///< the one that was chosen, if the option leaves that open
};
[[nodiscard]] ListeningPageServer listenForPages(const model::Options& options);

}  // namespace criu::engine
