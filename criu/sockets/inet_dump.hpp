// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "criu/files/file_dump.hpp"
#include "criu/kernel/net/inet_diag.hpp"
#include "criu/sockets/inet_options.hpp"
#include "criu/sockets/multicast.hpp"
#include "criu/sockets/network_lock.hpp"
#include "criu/sockets/tcp_repair.hpp"

namespace criu::sockets {

/// Dump half of Internet sockets.
class InetDump {
public:
    explicit InetDump(NetworkLock& lock) : lock_(lock) {}
    ~InetDump() { release(); }
    InetDump(const InetDump&) = delete;
    InetDump& operator=(const InetDump&) = delete;

    /// The part of a socket's sub-message that can be asked from the socket alone. Called by several threads at once.
    InetSkEntry& prepare(const files::OpenFd& file, Arena& arena);

    /// Fills the sub-message of a prepared socket; of TCP connections all but what changes as long as packets come.
    void add(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump);

    /// Locks the network, and dumps the connections.
    void finish(files::FileDump& dump);

    /// Ends repair mode and the lock: connections go on.
    void release() noexcept;
    /// They stay locked, and their sockets in repair mode.
    void leaveLocked() noexcept;

private:
    struct Connection {
        InetSkEntry* entry = nullptr;
        UniqueFd socket;
        std::string shown;
        InetConnection ends;
        bool alive = false;  ///< when it was seen first: not closed yet
    };

    const kernel::InetSocketInfo* find(const files::OpenFd& file, const InetType& type, std::uint32_t inode);
    void addTcp(const files::OpenFd& file, InetSkEntry& out, const InetConnection& ends, files::FileDump& dump);
    void addPackets(const files::OpenFd& file, const InetType& type, InetSkEntry& out, files::FileDump& dump);
    void dumpConnections(const ImageDir& images);
    static void dumpConnection(Connection& connection, std::optional<TcpRepair>& repair, const ImageDir& images);

    NetworkLock& lock_;
    InetOptionsDump options_;
    MembershipsDump memberships_;
    std::mutex mutex_;                                      ///< guards the next two
    std::set<std::tuple<std::uint32_t, int, int>> listed_;  ///< networks, families and protocols read so far
    std::map<std::uint32_t, kernel::InetSocketInfo> known_;
    std::vector<Connection> connections_;
    std::vector<std::optional<TcpRepair>> repaired_;
};

}  // namespace criu::sockets
