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
#include "criu/sockets/udp_queue.hpp"

namespace criu::sockets {

/// Dump half of Internet sockets.
class InetDump {
public:
    InetDump(NetworkLock& lock, OwnerProgram program) : lock_(lock), program_(std::move(program)) {}
    ~InetDump() { release(); }
    InetDump(const InetDump&) = delete;
    InetDump& operator=(const InetDump&) = delete;

    /// Fills those fields of the entry whose values getsockopt(2) and similar calls on the socket return. Several
    /// threads may call this function at the same time.
    InetSkEntry& prepare(const files::OpenFd& file, Arena& arena);

    /// Fills the remaining fields of a prepared socket, except fields of TCP connections that change with each packet.
    void add(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump);

    /// Locks the network, and dumps the connections.
    void finish(files::FileDump& dump);

    /// Ends repair mode of all connections and removes the network lock, so that the connections continue.
    void release() noexcept;
    /// Makes the network lock permanent. Puts the sockets into repair mode, so that they send nothing when the kernel
    /// closes them. The dump calls this right before it kills the tree. After an Error, release() lets the connections
    /// continue.
    void prepareKill();
    /// Keeps the network lock, and leaves the sockets in repair mode.
    void leaveLocked() noexcept;

private:
    struct Connection {
        InetSkEntry* entry = nullptr;
        UniqueFd socket;
        std::string shown;
        InetConnection ends;
        bool alive = false;  ///< true if the connection was open when the dump first read its state
    };

    const kernel::InetSocketInfo* find(const files::OpenFd& file, const SocketType& type, std::uint32_t inode);
    void addTcp(const files::OpenFd& file, InetSkEntry& out, const InetConnection& ends, files::FileDump& dump);
    void addPackets(const files::OpenFd& file, const SocketType& type, InetSkEntry& out, files::FileDump& dump);
    void addQueue(const files::OpenFd& file, InetSkEntry& out, std::size_t room);
    void recordOptions(Journal& journal) const;
    void dumpConnections(const ImageDir& images);
    void dumpConnection(Connection& connection, std::optional<TcpRepair>& repair, const ImageDir& images) const;

    NetworkLock& lock_;
    OwnerProgram program_;
    std::vector<WaitingQueue> queues_;
    std::map<std::uint32_t, std::vector<HostAddress>> hostAddresses_;  ///< by network namespace id
    int pauses_ = 20;  ///< pauses of 5 ms that add() may still make until UDP sockets have sent their datagrams
    InetOptionsDump options_;
    MembershipsDump memberships_;
    std::mutex mutex_;  ///< guards `listed_` and `known_`
    /// Network namespaces, families and protocols whose sockets are in `known_`.
    std::set<std::tuple<std::uint32_t, int, int>> listed_;
    std::map<std::uint32_t, kernel::InetSocketInfo> known_;
    std::vector<Connection> connections_;
    std::vector<std::optional<TcpRepair>> repaired_;
};

}  // namespace criu::sockets
