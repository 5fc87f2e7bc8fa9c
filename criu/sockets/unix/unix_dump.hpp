// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "criu/files/file_dump.hpp"
#include "criu/kernel/net/sock_diag.hpp"
#include "criu/sockets/external_sockets.hpp"
#include "criu/sockets/socket_queue.hpp"
#include "images/sk-unix.hpp"

namespace criu::sockets {

/// Dumps Unix sockets.
class UnixDump {
public:
    explicit UnixDump(ExternalSocketDump& externalSockets) : externalSockets_(externalSockets) {}

    /// Fills those fields of the entry whose values getsockopt(2) and similar calls on the socket return. Any thread
    /// may call this function.
    static UnixSkEntry& prepare(const files::OpenFd& file, Arena& arena);

    /// Fills the remaining fields of a prepared socket, and dumps its queue.
    void add(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump);

    /// Refuses connections to outside sockets if the options don't allow these connections. Call it after add() of all
    /// sockets.
    void finish(files::FileDump& dump);

private:
    /// Socket whose peer isn't in the image yet. The peer may be outside of the tree.
    struct Waiting {
        FileEntry* entry = nullptr;
        std::string shown;
        UniqueFd copy;  ///< descriptor for plugins; empty if no plugin has the hook DUMP_UNIX_SK
    };

    void readAll(std::uint32_t network);
    const kernel::UnixSocketInfo* find(std::uint32_t network, std::uint32_t inode);
    std::uint32_t peerOf(const kernel::UnixSocketInfo& info, const std::string& shown) const;
    void write(FileEntry& entry, const files::OpenFd& file, files::FileDump& dump);
    void release(std::uint32_t inode, files::FileDump& dump);
    void checkOutside(const Waiting& socket, const kernel::UnixSocketInfo* peer, files::FileDump& dump) const;
    void addOutside(std::uint32_t peer, const kernel::UnixSocketInfo* info, files::FileDump& dump) const;

    ExternalSocketDump& externalSockets_;
    std::set<std::uint32_t> read_;  ///< ids of the network namespaces whose sockets are in `all_`
    std::map<std::uint32_t, kernel::UnixSocketInfo> all_;
    /// Listener of each client whose connection isn't accepted yet; both are inode numbers.
    std::map<std::uint32_t, std::uint32_t> waitsFor_;
    std::map<std::uint32_t, std::uint32_t> peers_;  ///< peer of each added socket; both are inode numbers
    std::set<std::uint32_t> written_;
    /// Sockets that wait for their peer; the key is the peer's inode number.
    std::map<std::uint32_t, std::vector<Waiting>> waiting_;
    SocketQueueDump queues_;
};

}  // namespace criu::sockets
