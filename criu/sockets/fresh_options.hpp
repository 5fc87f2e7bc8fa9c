// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "criu/sockets/socket_options.hpp"

namespace criu::sockets {

/// Option values of new sockets, for a restore. criu sets only dumped options that differ from them, and reads no
/// option of the other sockets of a kind.
///
/// The values come from the restoring kernel and network namespace, because sysctls decide some of them. Restored
/// processes inherit the object by fork.
class FreshOptions {
public:
    /// Reads the options of a new socket, unless a socket of this kind was read before. Call it before any other call
    /// on the socket. `network`: id of the network namespace. Throws Error.
    void learn(std::uint32_t network, const SocketType& type, int socket);

    /// Returns the values for this kind; none if no socket of it was read. Doesn't contain options that criu changes
    /// while it opens a socket of this family.
    [[nodiscard]] KnownOptions of(std::uint32_t network, const SocketType& type) const;

private:
    std::map<std::pair<std::uint32_t, SocketType>, std::vector<KnownOption>> known_;
};

}  // namespace criu::sockets
