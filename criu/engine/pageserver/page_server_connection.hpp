// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/memory/pages/page_connection.hpp"

namespace criu::memory {
class TlsCredentials;
}

/// Both ends of a connection to a page server, by the options.
namespace criu::engine {

/// Connects as sender to --address and --port, or uses the descriptor of --ps-socket. Later waits for the server are
/// limited to --timeout, like the connect. Throws Error.
[[nodiscard]] memory::PageConnection connectToPageServer(const model::Options& options, StopRequest& stop);

/// Makes the server encrypt all pages with these keys (engine/images/encrypted_pages.hpp). It must be the first
/// message, on a confidential connection. Returns when the server has agreed. Throws Error.
void sendKeys(memory::PageConnection& server, const crypto::SecretBytes& keys);

/// Socket of the server, which listens at --address and --port. Throws Error.
struct ListeningPageServer {
    UniqueFd socket;                                            ///< nonblocking
    std::uint16_t port = 0;                                     ///< the kernel's choice if --port is missing or 0
    std::shared_ptr<const memory::TlsCredentials> credentials;  ///< null without --tls
};
[[nodiscard]] ListeningPageServer listenForPages(const model::Options& options);

/// Returns the connection of the one sender: the first that connects, or the one of --ps-socket. There is no time
/// limit, because the sender's tree may run in between. With --tls, a client without a good certificate is refused, and
/// the server waits for the next one. The server ends when the sender closes the connection, its machine stops
/// answering, or a stop is requested. Throws Error.
[[nodiscard]] memory::PageConnection acceptSender(const ListeningPageServer& server, const model::Options& options,
                                                  StopRequest& stop, Log& log);

/// Open and accept the connections for content, beside the sender's first one (memory::PageCommand::Streams). Each
/// begins with a random number that the server sent to the sender, because other clients may connect, too. `files`: see
/// PageCommand::Streams. Throw Error, also if a connection takes longer than --timeout.
[[nodiscard]] std::vector<memory::PageConnection> connectStreams(memory::PageConnection& control, std::uint64_t files,
                                                                 const model::Options& options, StopRequest& stop);
[[nodiscard]] std::vector<memory::PageConnection> acceptStreams(memory::PageConnection& control,
                                                                const ListeningPageServer& server, std::uint64_t wanted,
                                                                const model::Options& options, StopRequest& stop);

}  // namespace criu::engine
