// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/pageserver/page_server_connection.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/crypto/crypto.hpp"
#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/ready_wait.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/memory/pages/page_server_protocol.hpp"
#include "criu/memory/pages/page_tls.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

using memory::PageCommand;
using memory::PageMessage;

constexpr std::chrono::seconds kAnyTime{0};
/// Maximum time between the accept of a content connection and the Join message of the sender.
constexpr std::chrono::seconds kJoining{2};

struct ServerAddress {
    sockaddr_storage storage{};
    socklen_t size = 0;

    [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// Parses a numeric IPv4 or IPv6 address. Like CRIU 4.2, doesn't resolve host names.
ServerAddress parse(const std::string& text, std::uint16_t port) {
    ServerAddress address;
    auto& four = reinterpret_cast<sockaddr_in&>(address.storage);
    auto& six = reinterpret_cast<sockaddr_in6&>(address.storage);
    if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
        four.sin_family = AF_INET;
        four.sin_port = htons(port);
        address.size = sizeof(four);
    } else if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) == 1) {
        six.sin6_family = AF_INET6;
        six.sin6_port = htons(port);
        address.size = sizeof(six);
    } else {
        fail("--address {}: criu resolves no host names; give an IPv4 or IPv6 address, such as 192.0.2.1", text);
    }
    return address;
}

UniqueFd makeServerSocket(const ServerAddress& address) {
    constexpr int kType = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
    return UniqueFd(sys(::socket(address.storage.ss_family, kType, IPPROTO_TCP), "make a socket"));
}

UniqueFd passedSocket(const model::Options& options) {
    return UniqueFd(
        sys(::fcntl(options.pageServerSocket, F_DUPFD_CLOEXEC, 3), "--ps-socket {}", options.pageServerSocket));
}

/// Waits until a nonblocking connect(2) has ended, and returns its errno; 0 means success.
int finishConnecting(int socket, StopRequest& stop, std::chrono::seconds patience) {
    std::optional<std::chrono::milliseconds> limit;
    if (patience.count() > 0)
        limit = patience;
    if (!waitReady(socket, POLLOUT, stop, limit))
        return ETIMEDOUT;
    int result = 0;
    socklen_t size = sizeof(result);
    sys(::getsockopt(socket, SOL_SOCKET, SO_ERROR, &result, &size), "look at a socket");
    return result;
}

/// Loads criu's certificates for --tls. Returns null without --tls. The peer's certificate must be valid for the name
/// of --tls-peer, or for the address of --address, as in CRIU 4.2.
std::shared_ptr<const memory::TlsCredentials> loadCredentials(const model::Options& options) {
    if (!options.tls)
        return nullptr;
    memory::TlsSettings settings{options.tlsCaCertificate, options.tlsCaRevocations, options.tlsCertificate,
                                 options.tlsKey, std::nullopt};
    if (options.tlsPeer)
        settings.peerName = options.tlsPeer;
    else if (options.tlsVerifyName)
        settings.peerName = options.address;
    return std::make_shared<const memory::TlsCredentials>(settings);
}

/// Starts TLS as client on the connection to a page server. Does nothing without --tls.
memory::PageConnection securedAsClient(memory::PageConnection connection, const model::Options& options) {
    if (auto credentials = loadCredentials(options))
        connection.secure(false, std::move(credentials));
    return connection;
}

/// Starts TLS as server on a connection. A client has ten seconds for its handshake. Does nothing with null
/// credentials.
memory::PageConnection securedAsServer(memory::PageConnection connection,
                                       std::shared_ptr<const memory::TlsCredentials> credentials) {
    constexpr std::chrono::seconds kHandshake{10};
    if (credentials)
        connection.secure(true, std::move(credentials), kHandshake);
    return connection;
}

/// Enables keepalive probes (SO_KEEPALIVE), because a machine that loses its power or network doesn't close the
/// connection. The kernel probes after a minute without a message, and gives up after four probes.
void enableKeepalive(int socket) {
    const int on = 1;
    const int idle = 60;
    const int between = 15;
    const int times = 4;
    ::setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof(between));
    ::setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof(times));
}

/// Returns a message as bytes.
std::span<std::byte> bytesOf(PageMessage& message) noexcept {
    return std::as_writable_bytes(std::span(&message, 1));
}

memory::PageConnection connectAnew(const model::Options& options, StopRequest& stop) {
    const ServerAddress address = parse(*options.address, *options.port);
    UniqueFd socket = makeServerSocket(address);
    int result = ::connect(socket.get(), address.get(), address.size) == 0 ? 0 : errno;
    if (result == EINPROGRESS)
        result = finishConnecting(socket.get(), stop, options.timeout);
    if (result != 0) {
        Error error(result, fmt::format("connect to the page server {} port {}", *options.address, *options.port));
        if (result == ECONNREFUSED)
            error.addHint("no process listens there; criu page-server ends after one dump, so start it for each");
        throw error;
    }
    return securedAsClient({std::move(socket), stop, options.timeout}, options);
}

/// Accepts the next connection. `limit`: maximum time to wait; nullopt or 0 means no limit.
UniqueFd acceptOne(int server, StopRequest& stop, std::optional<std::chrono::milliseconds> limit) {
    if (limit && limit->count() == 0)
        limit.reset();
    for (;;) {
        if (!waitReady(server, POLLIN, stop, limit))
            failWith(ETIMEDOUT, "accept a connection: no client connects for {} s (--timeout)", limit->count() / 1000);
        UniqueFd connection(::accept4(server, nullptr, nullptr, SOCK_CLOEXEC));
        if (connection) {
            enableKeepalive(connection.get());
            return connection;
        }
        // ECONNABORTED: the client has already closed the connection. Waits for the next one.
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
            failErrno("accept a sender");
    }
}

}  // namespace

memory::PageConnection connectToPageServer(const model::Options& options, StopRequest& stop) {
    if (options.pageServerSocket >= 0)
        return securedAsClient({passedSocket(options), stop, options.timeout}, options);
    if (!options.address || !options.port)
        fail("--page-server needs --address and --port, or --ps-socket");
    return connectAnew(options, stop);
}

void sendKeys(memory::PageConnection& server, const crypto::SecretBytes& keys) {
    const ErrorContext context([] { return "have a page server encrypt pages"; });
    const PageMessage message{wordOf(PageCommand::Encrypt), 0, keys.bytes().size(), 0, 0};
    try {
        server.send(std::as_bytes(std::span(&message, 1)), true);
        server.send(keys.bytes());
        if (server.receiveNumber<std::int32_t>() != 0)
            fail("it says that it doesn't");
    } catch (Error& error) {
        error.addHint("it has to be a criu page-server --encrypt with the same recipients; its log says more");
        throw;
    }
}

std::vector<memory::PageConnection> connectStreams(memory::PageConnection& control, std::uint64_t files,
                                                   const model::Options& options, StopRequest& stop) {
    const ErrorContext context([&] { return fmt::format("--connections {}", options.connections); });
    PageMessage message{wordOf(PageCommand::Streams), 0, options.connections, files, 0};
    try {
        control.send(bytesOf(message));
        if (!control.receive(bytesOf(message)))
            failWith(EPROTONOSUPPORT, "the page server has closed the connection");
    } catch (Error& error) {
        error.addHint("page servers of CRIU 4.2 take one connection: do without the option");
        throw;
    }
    if (message.command() != PageCommand::Streams || message.pages == 0 || message.pages > options.connections)
        fail("the page server sent an invalid answer: {:#x}", message.word);
    const std::uint64_t count = message.pages;
    message = {wordOf(PageCommand::Join), 0, 0, 0, message.object};
    std::vector<memory::PageConnection> streams;
    while (streams.size() < count) {
        streams.push_back(connectAnew(options, stop));
        streams.back().send(bytesOf(message));
    }
    return streams;
}

ListeningPageServer listenForPages(const model::Options& options) {
    const std::string text = options.address.value_or("0.0.0.0");
    const ServerAddress address = parse(text, options.port.value_or(0));
    ListeningPageServer server{makeServerSocket(address), 0, loadCredentials(options)};
    const int on = 1;
    ::setsockopt(server.socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    sys(::bind(server.socket.get(), address.get(), address.size), "bind to {} port {}", text, options.port.value_or(0));
    sys(::listen(server.socket.get(), memory::kMostStreams), "listen at {}", text);
    ServerAddress own;
    own.size = sizeof(own.storage);
    sys(::getsockname(server.socket.get(), reinterpret_cast<sockaddr*>(&own.storage), &own.size), "look at the socket");
    // sockaddr_in and sockaddr_in6 have the port at the same offset.
    server.port = ntohs(reinterpret_cast<const sockaddr_in&>(own.storage).sin_port);
    return server;
}

memory::PageConnection acceptSender(const ListeningPageServer& server, const model::Options& options, StopRequest& stop,
                                    Log& log, const std::function<void()>& checkWait) {
    if (options.pageServerSocket >= 0)
        return securedAsServer({passedSocket(options), stop, kAnyTime}, loadCredentials(options));
    constexpr int kLogged = 5;
    constexpr std::chrono::milliseconds kCheckEvery{250};
    for (int refused = 0;; ++refused) {
        while (checkWait && !waitReady(server.socket.get(), POLLIN, stop, kCheckEvery))
            checkWait();
        UniqueFd socket = acceptOne(server.socket.get(), stop, std::nullopt);
        if (!server.credentials)
            return {std::move(socket), stop, kAnyTime};
        try {
            return securedAsServer({std::move(socket), stop, kAnyTime}, server.credentials);
        } catch (const Error& error) {
            stop.throwIfRequested();
            // Logs only the first refused connections: any machine may connect arbitrarily often, and would fill the
            // log.
            if (refused < kLogged)
                log.warn("Refused a connection: {}", error.what());
        }
    }
}

std::vector<memory::PageConnection> acceptStreams(memory::PageConnection& control, const ListeningPageServer& server,
                                                  std::uint64_t wanted, const model::Options& options,
                                                  StopRequest& stop) {
    if (!server.socket)
        fail("connections for content are asked for by a sender of --ps-socket");
    const std::uint64_t count = std::min<std::uint64_t>(wanted, memory::kMostStreams);
    PageMessage answer{wordOf(PageCommand::Streams), 0, count, 0, 0};
    if (::getrandom(&answer.object, sizeof(answer.object), 0) != sizeof(answer.object))
        failErrno("make a random number");
    control.send(bytesOf(answer));
    std::vector<memory::PageConnection> streams;
    while (streams.size() < count) {
        // Waits at most --timeout. The sender opens all its connections at once, so that a longer wait means a failure.
        UniqueFd socket = acceptOne(server.socket.get(), stop, options.timeout);
        try {
            memory::PageConnection stream = securedAsServer({std::move(socket), stop, kJoining}, server.credentials);
            PageMessage join;
            if (stream.receive(bytesOf(join)) && join.command() == PageCommand::Join && join.object == answer.object) {
                stream.setPatience(kAnyTime);
                streams.push_back(std::move(stream));
            }
        } catch (const Error&) {
            // Ignores an unauthenticated peer that disconnects, sends nothing or doesn't use TLS. Any machine may
            // connect, and must not make the dump fail.
            stop.throwIfRequested();
        }
    }
    return streams;
}

}  // namespace criu::engine
