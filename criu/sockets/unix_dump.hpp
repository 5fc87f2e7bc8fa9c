// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "criu/files/file_kind.hpp"
#include "criu/kernel/sock_diag.hpp"
#include "criu/sockets/socket_queue.hpp"
#include "images/sk-unix.hpp"

namespace criu::sockets {

/// Dump half of Unix sockets.
class UnixDump {
public:
    /// Fills the sub-message of a socket; dumps what waits in it.
    void add(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump);

    /// When all sockets of the tree were seen: refuses connections to the outside unless the options allow them.
    void finish(files::FileDump& dump);

private:
    /// Connected to a socket that may turn out to be outside.
    struct Connection {
        std::uint32_t socket = 0;
        std::uint32_t peer = 0;
        std::string shown;
    };

    void readAll();
    const kernel::UnixSocketInfo* find(std::uint32_t inode);
    std::uint32_t peerOf(const kernel::UnixSocketInfo& info, const std::string& shown) const;
    void checkOutside(const Connection& connection, const kernel::UnixSocketInfo* peer,
                      const model::Options& options) const;
    void addOutside(std::uint32_t peer, const kernel::UnixSocketInfo* info, files::FileDump& dump) const;

    bool read_ = false;
    std::map<std::uint32_t, kernel::UnixSocketInfo> all_;
    std::map<std::uint32_t, std::uint32_t> waitsFor_;  ///< connections not accepted: client to listener
    std::set<std::uint32_t> dumped_;
    std::vector<Connection> connections_;
    SocketQueueDump queues_;
};

}  // namespace criu::sockets
