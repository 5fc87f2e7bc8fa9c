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

/// Connection to a blob that runs in a thread and handles commands (compel/blob/daemon.hpp). The tracer makes the
/// process create a Unix socket pair, and gets one end by pidfd_getfd(2) (Linux 5.6). Until stop(), the blob's end is
/// the descriptor remoteSocket() in the process.
///
/// The destructor closes the tracer's end, so that the blob's loop ends. If the blob doesn't end within a second, the
/// destructor stops it, and closes the blob's end. Injection and Tracee must outlive the channel.
class Channel {
public:
    /// Part of an injection's data that the blob uses. The start contains the blob's argument and packet buffer. The
    /// stack begins at the end and grows down.
    struct Workspace {
        RemoteAddress address;
        std::uint64_t size;
    };
    static constexpr std::uint64_t minimumWorkspace = std::uint64_t{128} * 1024;

    /// Starts the blob. `argument`: value for DaemonArgument::argument.
    Channel(Injection& injection, Tracee& thread, Workspace workspace, std::uint64_t argument = 0);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    ~Channel();

    struct Reply {
        std::int64_t result = 0;
        std::vector<std::byte> payload;
        std::vector<UniqueFd> fds;
    };

    /// Sends a command and waits for its reply. Throws Error if the blob crashes or ends, or if its thread dies;
    /// afterwards the channel is unusable.
    Reply call(std::uint32_t command, std::span<const std::byte> payload = {}, std::span<const int> fds = {});
    /// Sends a command; receive() waits for its reply. With these functions, many processes can work at the same time.
    /// Each send() needs one receive().
    void send(std::uint32_t command, std::span<const std::byte> payload = {}, std::span<const int> fds = {});
    Reply receive();

    [[nodiscard]] int remoteSocket() const noexcept { return remoteSocket_; }

    /// Ends the blob's loop, restores the thread and closes the blob's socket in the process.
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
