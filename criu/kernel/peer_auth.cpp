// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/peer_auth.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "criu/base/crypto/crypto.hpp"
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

/// Returns the peer's process. Throws Error if this process can't identify it, or if it belongs to another user.
kernel::PidFd requirePeer(int socket) {
    ucred peer{};
    socklen_t size = sizeof(peer);
    sys(::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size), "see whom a socket is connected with");
    if (peer.uid != ::geteuid())
        failWith(EPERM, "user {} isn't that of this process", peer.uid);
    if (peer.pid == 0)
        failWith(EPERM, "it is in a pid namespace that isn't seen from here");
    std::optional<kernel::PidFd> process = openPeer(socket, peer.pid);
    if (!process)
        failWith(ESRCH, "it has ended");
    return std::move(*process);
}

void sendAuthMessage(int socket, const Proof& own, const Proof& others) {
    const AuthMessage greeting{reinterpret_cast<std::uintptr_t>(own.data()), others};
    kernel::sendMessage(socket, std::as_bytes(std::span(&greeting, 1)), -1);
}

Proof proofOf(const PeerProcess& peer, std::uint64_t place) {
    Proof proof{};
    peer.read(place, proof);
    return proof;
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

std::optional<kernel::PidFd> openPeer(int socket, pid_t pid) {
    constexpr int kPeerPidFd = 77;  // SO_PEERPIDFD, Linux 6.5; not in glibc 2.36's <sys/socket.h>
    int fd = -1;
    socklen_t size = sizeof(fd);
    if (::getsockopt(socket, SOL_SOCKET, kPeerPidFd, &fd, &size) == 0)
        return kernel::PidFd(UniqueFd(fd), pid);
    if (errno != ENOPROTOOPT)
        return std::nullopt;  // the kernel has no pidfd of a process that has ended
    try {
        return kernel::PidFd(pid);
    } catch (const Error& error) {
        if (error.code() != ESRCH)
            throw;
        return std::nullopt;
    }
}

PeerProcess::PeerProcess(int socket) : process_(requirePeer(socket)) {}

void PeerProcess::read(std::uint64_t address, std::span<std::byte> bytes) const {
    kernel::readMemory(process_.pid(), address, bytes);
    // The kernel doesn't reuse the pid of a process that hasn't ended.
    if (process_.waitExit())
        failWith(ESRCH, "process {} has ended", process_.pid());
}

PeerAuthentication::PeerAuthentication(int socket) : socket_(socket), peer_(socket), proof_(makeAuthSecret()) {}

bool PeerAuthentication::take() {
    const auto greeting = receiveAuthMessage(socket_);
    if (!greeting)
        failWith(EPIPE, "it has gone without introducing itself");
    if (!greeted_) {
        sendAuthMessage(socket_, proof_, proofOf(peer_, greeting->place));
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

namespace {

PeerAuthResult introduceTo(int socket, const WaitLimit& limit) {
    const PeerProcess peer(socket);
    const Proof proof = makeAuthSecret();
    sendAuthMessage(socket, proof, {});
    if (!waitReady(socket, POLLIN, limit))
        failWith(ETIMEDOUT, "it doesn't answer");
    const auto answer = receiveAuthMessage(socket);
    if (!answer)
        return PeerAuthResult::Gone;
    if (answer->proof != proof)
        return PeerAuthResult::UnauthenticatedPeer;
    sendAuthMessage(socket, proof, proofOf(peer, answer->place));
    return PeerAuthResult::Believed;
}

}  // namespace

PeerAuthResult authenticateTo(int socket, const WaitLimit& limit) {
    try {
        return introduceTo(socket, limit);
    } catch (const Error& error) {
        // The kernel reports a reset instead of the end if the peer ends before it reads a message. The other errors
        // are those of a write to an ended peer, and of a look at its process.
        if (error.code() == ECONNRESET || error.code() == EPIPE || error.code() == ESRCH)
            return PeerAuthResult::Gone;
        throw;
    }
}

}  // namespace criu::engine
