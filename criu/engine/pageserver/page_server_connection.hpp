// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/memory/pages/page_connection.hpp"

namespace criu {
class StopRequest;
}

namespace criu::crypto {
class SecretBytes;
}

namespace criu::model {
struct Options;
}

/// The two ends of a connection to a page server, as options describe it.
namespace criu::engine {

/// The sender's: what --ps-socket names, or a new connection to --address and --port. No wait for the server, that for
/// the connection included, is longer than --timeout. Throws Error.
[[nodiscard]] memory::PageConnection connectToPageServer(const model::Options& options, StopRequest& stop);

/// Has the server encrypt what it gets, with these keys (engine/images/encrypted_pages.hpp): before anything else is
/// sent, and over a connection that nobody else sees. Returns when it is going to. Throws Error.
void sendKeys(memory::PageConnection& server, const crypto::SecretBytes& keys);

/// The server's socket, which listens at --address and --port. Throws Error.
struct ListeningPageServer {
    UniqueFd socket;         ///< doesn't block
    std::uint16_t port = 0;  ///< the one that was chosen, if the option leaves that open
};
[[nodiscard]] ListeningPageServer listenForPages(const model::Options& options);

/// The one sender of a server: whoever connects first, or what --ps-socket names. It may take the time it likes, since
/// nothing stands still for it here; the server goes on until it closes the connection, its machine doesn't answer any
/// more, or a stop is requested. Throws Error.
[[nodiscard]] memory::PageConnection acceptSender(const ListeningPageServer& server, const model::Options& options,
                                                  StopRequest& stop);

/// Connections for content, beside the one that a sender has already (memory::PageCommand::Streams). The server, which
/// may take them from others, knows them by a number that nobody else is told. `files`: see PageCommand::Streams. Throw
/// Error, also when they don't come within --timeout.
[[nodiscard]] std::vector<memory::PageConnection> connectStreams(memory::PageConnection& control, std::uint64_t files,
                                                                 const model::Options& options, StopRequest& stop);
[[nodiscard]] std::vector<memory::PageConnection> acceptStreams(memory::PageConnection& control,
                                                                const ListeningPageServer& server, std::uint64_t wanted,
                                                                const model::Options& options, StopRequest& stop);

}  // namespace criu::engine
