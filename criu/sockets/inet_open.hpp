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

class TcpStreamRestore;

/// An Internet socket to be restored.
class RestoredInet final : public files::RestoredFile {
public:
    /// Throws Error if the entry can't be one, or the options don't allow it.
    RestoredInet(const InetSkEntry& entry, const model::Options& options);

    [[nodiscard]] std::string describe() const override;
    void open(files::FileOpener& opener) override;
    void complete(files::PlacedFiles& files) override;
    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

    [[nodiscard]] FileId id() const noexcept { return FileId{entry_.id}; }
    /// A TCP connection that is made again: its packets are locked since the dump.
    [[nodiscard]] bool isConnection() const noexcept { return isTcp() && ends_.remote.port != 0; }
    [[nodiscard]] const InetConnection& ends() const noexcept { return ends_; }
    /// A TCP socket that listens at a port.
    [[nodiscard]] bool listens() const noexcept { return isTcp() && state_ == TcpState::Listen; }
    /// Another socket of the tree listens at the same port.
    void setPortShared() noexcept { portShared_ = true; }

    /// Whether repair mode is to be ended when the network is unlocked.
    [[nodiscard]] bool isInRepair() const noexcept { return isConnection() && !tcpClose_ && !given_; }
    /// Ends it, through any descriptor of the socket.
    void endRepair(int socket) const;

private:
    [[nodiscard]] bool isTcp() const noexcept;
    [[nodiscard]] std::string name() const;
    void openConnection(int socket, std::uint32_t device, files::FileOpener& opener) const;
    bool tryConnect(TcpStreamRestore& stream, int socket, std::uint32_t device, files::FileOpener& opener) const;
    void openOther(int socket, std::uint32_t device, files::FileOpener& opener) const;
    void bind(int socket, std::uint32_t device) const;
    [[nodiscard]] bool bindAfterClosed(int socket, const SocketAddress& address, socklen_t length) const;
    void finishOpen(int socket, files::FileOpener& opener) const;
    void restoreReuse(int socket) const;

    const InetSkEntry& entry_;
    TcpState state_;
    InetConnection ends_;
    bool tcpClose_;  ///< connections are restored as closed
    bool given_;     ///< by --inherit-fd, as it is to be
    bool portShared_ = false;
};

}  // namespace criu::sockets
