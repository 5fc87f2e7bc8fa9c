// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <string>

#include "criu/files/file_opener.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/sockets/inet_endpoint.hpp"
#include "criu/sockets/tcp_repair.hpp"
#include "images/sk-inet.hpp"

namespace criu::sockets {

class FreshOptions;
struct SocketType;

class TcpStreamRestore;

/// Restore half of one Internet socket.
class RestoredInet final : public files::RestoredFile {
public:
    /// Throws Error if the entry is invalid, or if the options forbid to restore such a socket. `update` may be empty.
    /// `fresh` must outlive this object.
    RestoredInet(const InetSkEntry& entry, const model::Options& options, const AddressUpdate& update,
                 FreshOptions& fresh);

    [[nodiscard]] std::string describe() const override;
    void open(files::FileOpener& opener) override;
    void requireOpenable(const files::Surroundings& around) const override;
    void complete(files::PlacedFiles& files) override;
    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

    [[nodiscard]] FileId id() const noexcept { return FileId{entry_.id}; }
    /// True for a TCP connection. Since the dump, the network lock drops packets of connections.
    [[nodiscard]] bool isConnection() const noexcept { return isTcp() && ends_.remote.port != 0; }
    [[nodiscard]] const InetConnection& ends() const noexcept { return ends_; }
    /// Returns both ends with their dumped addresses, because the rules of the network lock contain these addresses.
    [[nodiscard]] const InetConnection& dumpedEnds() const noexcept { return dumpedEnds_; }
    /// True if --inet-map has a mapping for the peer's address only. The user so says that the peer gets this address,
    /// and uses the new address of this socket.
    [[nodiscard]] bool peerMoves() const noexcept { return peerMoves_; }
    [[nodiscard]] std::string name() const;
    /// True for a TCP socket that listens at a port.
    [[nodiscard]] bool listens() const noexcept { return isTcp() && state_ == TcpState::Listen; }
    /// Mappings of --inet-map that replace the addresses of the socket; null if none matches.
    [[nodiscard]] const model::InetMapping* localMapping() const noexcept { return localMapping_; }
    [[nodiscard]] const model::InetMapping* remoteMapping() const noexcept { return remoteMapping_; }
    /// Records that another socket of the tree listens at the same port.
    void setPortShared() noexcept { portShared_ = true; }

    void addFinish(int fd, pie::StepList& steps, pie::RemoteData& data) const override;

    /// True if the socket is in repair mode until the commit of the restore.
    [[nodiscard]] bool isInRepair() const noexcept { return isConnection() && !tcpClose_ && !given_; }
    /// Ends repair mode, under the network lock. `socket`: any descriptor of this socket.
    void endRepair(int socket) const;
    /// Sends a window probe. The peer answers the probe with its window.
    void probeWindow(int socket) const;

private:
    [[nodiscard]] bool isTcp() const noexcept;
    void openConnection(int socket, std::uint32_t device, files::FileOpener& opener) const;
    bool tryConnect(TcpStreamRestore& stream, int socket, std::uint32_t device, files::FileOpener& opener) const;
    void openOther(int socket, std::uint32_t device, files::FileOpener& opener) const;
    void bind(int socket, std::uint32_t device) const;
    [[nodiscard]] int tryBind(int socket, std::uint32_t device) const;
    [[noreturn]] void refuseBind(int code) const;
    [[nodiscard]] std::string holderOfPort() const;
    void shareAddress(int socket) const;
    [[nodiscard]] bool bindToFreePort(int socket, std::uint32_t device) const;
    void bindWithQueue(int socket, std::uint32_t device, files::FileOpener& opener) const;
    [[nodiscard]] bool bindAfterClosed(int socket, std::uint32_t device) const;
    [[nodiscard]] UniqueFd newSocket() const;
    [[nodiscard]] bool isBound() const noexcept;
    [[nodiscard]] bool mayLackAddress() const noexcept;
    [[nodiscard]] bool lacksAddress(std::uint32_t device) const;
    [[nodiscard]] std::string describeLack() const;
    void finishOpen(int socket, files::FileOpener& opener) const;
    void restoreReuse(int socket) const;
    [[nodiscard]] bool reusesAddress() const noexcept;
    [[nodiscard]] bool reusesPort() const noexcept;
    [[nodiscard]] bool hidesSharedPort() const noexcept;
    [[nodiscard]] bool changesReuse() const noexcept;

    [[nodiscard]] SocketType type() const noexcept;
    [[nodiscard]] std::uint32_t network() const noexcept { return entry_.has_ns_id != 0 ? entry_.ns_id : 0; }

    const InetSkEntry& entry_;
    FreshOptions& fresh_;
    TcpState state_;
    InetConnection dumpedEnds_;
    InetConnection ends_;  ///< both ends with the addresses that the restored socket gets (--inet-map)
    bool tcpClose_;        ///< true with --tcp-close: connections are restored as closed sockets
    bool given_;           ///< true if the user passed the socket by --inherit-fd; criu doesn't change this socket
    bool portShared_ = false;
    bool peerMoves_ = false;
    const model::InetMapping* localMapping_ = nullptr;
    const model::InetMapping* remoteMapping_ = nullptr;
};

}  // namespace criu::sockets
