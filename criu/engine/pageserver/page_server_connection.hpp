// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/memory/pages/page_connection.hpp"

namespace criu::memory {
class TlsCredentials;
}

/// Opens connections between a dump and a page server, at both ends.
namespace criu::engine {

/// Connects as sender to --address and --port, or uses the descriptor of --ps-socket. --timeout limits the connect(2)
/// and all later waits for the server. Throws Error.
[[nodiscard]] memory::PageConnection connectToPageServer(const model::Options& options, StopRequest& stop);

/// Sends the keys with which the server encrypts all pages (engine/images/encrypted_pages.hpp). They must be the first
/// message, and the connection must use TLS or be local. Returns when the server has agreed. Throws Error.
void sendKeys(memory::PageConnection& server, const crypto::SecretBytes& keys);

/// Socket of a page server that listens at --address and --port.
struct ListeningPageServer {
    UniqueFd socket;         ///< nonblocking socket
    std::uint16_t port = 0;  ///< port; the kernel has chosen it if --port is missing or 0
    std::shared_ptr<const memory::TlsCredentials> credentials;  ///< null without --tls
};
[[nodiscard]] ListeningPageServer listenForPages(const model::Options& options);

/// Returns the connection of the sender: the first client that connects, or the descriptor of --ps-socket. Waits
/// without limit, because the user may start the dump much later. With --tls, refuses clients without a valid
/// certificate and waits for the next one. Throws Error, also after a stop request.
/// `checkWait` is called at intervals while no sender connects, and throws to end the wait.
[[nodiscard]] memory::PageConnection acceptSender(const ListeningPageServer& server, const model::Options& options,
                                                  StopRequest& stop, Log& log,
                                                  const std::function<void()>& checkWait = {});

/// Opens more connections of a sender, which transfer content (memory::PageCommand::Streams). Each connection begins
/// with a random number that the server has sent to the sender, because machines other than the sender may also
/// connect. Throws Error, also if a connection takes longer than --timeout. acceptStreams() does the server's part.
[[nodiscard]] std::vector<memory::PageConnection> connectStreams(memory::PageConnection& control, std::uint64_t files,
                                                                 const model::Options& options, StopRequest& stop);
[[nodiscard]] std::vector<memory::PageConnection> acceptStreams(memory::PageConnection& control,
                                                                const ListeningPageServer& server, std::uint64_t wanted,
                                                                const model::Options& options, StopRequest& stop);

}  // namespace criu::engine
