// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/peer_auth.hpp"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <span>

#include "criu/base/crypto.hpp"
#include "criu/base/error.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/kernel/pass_fd.hpp"

namespace criu::engine {
namespace {

/// Message of the peer authentication.
struct AuthMessage {
    std::uint64_t place = 0;  ///< address of the sender's secret in its own memory
    Proof proof{};            ///< secret that the sender has read from the memory of the receiver
};

Proof makeAuthSecret() {
    Proof proof;
    crypto::randomize(proof);
    return proof;
}

ucred peerCredentialsOf(int socket) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    sys(::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size), "see whom a socket is connected with");
    return peer;
}

/// Reads the secret from the memory of the peer process. Uses the pid that the kernel reports (SO_PEERCRED), because
/// the peer could put a false pid into a message.
Proof proofAt(int socket, std::uint64_t place) {
    Proof proof{};
    kernel::readMemory(peerCredentialsOf(socket).pid, place, proof);
    return proof;
}

void sendAuthMessage(int socket, const Proof& own, const Proof& others) {
    const AuthMessage greeting{reinterpret_cast<std::uintptr_t>(own.data()), others};
    kernel::sendMessage(socket, std::as_bytes(std::span(&greeting, 1)), -1);
}

/// Receives a message; nullopt if the peer has closed the connection.
std::optional<AuthMessage> receiveAuthMessage(int socket) {
    AuthMessage greeting;
    const kernel::ReceivedMessage received =
        kernel::receiveMessage(socket, std::as_writable_bytes(std::span(&greeting, 1)));
    if (received.size == 0)
        return std::nullopt;
    if (received.size != sizeof(greeting))
        fail("an authentication message of {} bytes instead of {}", received.size, sizeof(greeting));
    return greeting;
}

}  // namespace

PeerAuthentication::PeerAuthentication(int socket) : socket_(socket), proof_(makeAuthSecret()) {
    if (const uid_t user = peerCredentialsOf(socket).uid; user != ::geteuid())
        failWith(EPERM, "user {} isn't that of this process", user);
}

bool PeerAuthentication::take() {
    const auto greeting = receiveAuthMessage(socket_);
    if (!greeting)
        failWith(EPIPE, "it has gone without introducing itself");
    if (!greeted_) {
        sendAuthMessage(socket_, proof_, proofAt(socket_, greeting->place));
        greeted_ = true;
        return false;
    }
    if (greeting->proof != proof_)
        failWith(EPERM, "it may not read the memory of this process");
    return true;
}

void listenAsCurrentProcess(int listener, int backlog) {
    // Calls listen(2) again, because the kernel records the credentials of its caller (unix_listen() in
    // net/unix/af_unix.c).
    sys(::listen(listener, backlog), "listen");
}

PeerAuthResult authenticateTo(int socket) {
    constexpr timeval kPatience{10, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof(kPatience));
    if (peerCredentialsOf(socket).uid != ::geteuid())
        return PeerAuthResult::UnauthenticatedPeer;
    const Proof proof = makeAuthSecret();
    sendAuthMessage(socket, proof, {});
    const auto answer = receiveAuthMessage(socket);
    if (!answer)
        return PeerAuthResult::Gone;
    if (answer->proof != proof)
        return PeerAuthResult::UnauthenticatedPeer;
    sendAuthMessage(socket, proof, proofAt(socket, answer->place));
    return PeerAuthResult::Believed;
}

}  // namespace criu::engine
