// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <compel/channel_protocol.hpp>
#include <compel/injection.hpp>
#include <compel/unique_fd.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace compel {

/// Connection to a blob that stays in a thread and handles commands over a Unix socket pair. The socket pair is created
/// in the process, which needs pidfd_getfd(2) (Linux 5.6). The blob's end occupies the descriptor remoteSocket() until
/// the channel is stopped. For blobs that use compel/blob/daemon.hpp.
///
/// The destructor closes this end, so that the blob's loop ends. It stops a blob that doesn't end within a second, and
/// closes the blob's socket. Injection and Tracee must outlive the channel.
class Channel {
public:
    /// Part of an injection's data. The blob's argument and packet buffer lie at its start; the stack grows down from
    /// its end.
    struct Workspace {
        RemoteAddress address;
        std::uint64_t size;
    };
    static constexpr std::uint64_t minimumWorkspace = std::uint64_t{128} * 1024;

    /// Starts the blob. The blob receives `argument` in DaemonArgument::argument.
    Channel(Injection& injection, Tracee& thread, Workspace workspace, std::uint64_t argument = 0);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    ~Channel();

    struct Reply {
        std::int64_t result = 0;
        std::vector<std::byte> payload;
        std::vector<UniqueFd> fds;
    };

    /// Sends a command and waits for its answer. Throws Error if the blob crashes or ends, or if its thread dies. The
    /// channel is unusable then.
    Reply call(std::uint32_t command, std::span<const std::byte> payload = {}, std::span<const int> fds = {});
    /// The two halves of call(), so that many processes can work at the same time. Each send() needs its receive().
    void send(std::uint32_t command, std::span<const std::byte> payload = {}, std::span<const int> fds = {});
    Reply receive();

    [[nodiscard]] int remoteSocket() const noexcept { return remoteSocket_; }

    /// Ends the blob's loop, restores the thread and closes the socket in the process.
    void stop();

private:
    void connect(Workspace workspace);
    void hangUp();
    void closeRemote();

    Injection& injection_;
    Tracee& thread_;
    UniqueFd socket_;
    int remoteSocket_ = -1;
    std::optional<BlobRun> run_;
};

}  // namespace compel
