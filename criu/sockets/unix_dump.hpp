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

/// Dump half of Unix sockets.
class UnixDump {
public:
    explicit UnixDump(ExternalSocketDump& externalSockets) : externalSockets_(externalSockets) {}

    /// Fills the fields that need only the socket itself. Any thread may call it.
    static UnixSkEntry& prepare(const files::OpenFd& file, Arena& arena);

    /// Fills the other fields of a prepared socket, and dumps its queue.
    void add(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump);

    /// Refuses connections out of the tree unless the options allow them. Called after all sockets of the tree.
    void finish(files::FileDump& dump);

private:
    /// A socket whose peer isn't written yet. The peer may be outside of the tree.
    struct Waiting {
        FileEntry* entry = nullptr;
        std::string shown;
        UniqueFd copy;  ///< for plugins; empty if none has the hook
    };

    void readAll(std::uint32_t network);
    const kernel::UnixSocketInfo* find(std::uint32_t network, std::uint32_t inode);
    std::uint32_t peerOf(const kernel::UnixSocketInfo& info, const std::string& shown) const;
    void write(FileEntry& entry, const files::OpenFd& file, files::FileDump& dump);
    void release(std::uint32_t inode, files::FileDump& dump);
    void checkOutside(const Waiting& socket, const kernel::UnixSocketInfo* peer, files::FileDump& dump) const;
    void addOutside(std::uint32_t peer, const kernel::UnixSocketInfo* info, files::FileDump& dump) const;

    ExternalSocketDump& externalSockets_;
    std::set<std::uint32_t> read_;  ///< network namespaces
    std::map<std::uint32_t, kernel::UnixSocketInfo> all_;
    std::map<std::uint32_t, std::uint32_t> waitsFor_;  ///< connections not accepted: client to listener
    std::map<std::uint32_t, std::uint32_t> peers_;     ///< peers of all sockets that were added
    std::set<std::uint32_t> written_;
    std::map<std::uint32_t, std::vector<Waiting>> waiting_;  ///< by their peers
    SocketQueueDump queues_;
};

}  // namespace criu::sockets
