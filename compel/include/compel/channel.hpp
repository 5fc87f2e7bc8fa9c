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

/// A blob that stays at work in a thread and answers commands over a Unix socket pair made in the process (needs
/// pidfd_getfd(2), Linux 5.6). Its end occupies a descriptor in the process's table, remoteSocket(), until the channel
/// is stopped. Written for blobs that use compel/blob/daemon.hpp.
///
/// The destructor hangs up: the blob's loop ends, or it is broken off after a second, and its socket is closed.
/// Injection and Tracee must outlive it.
class Channel {
public:
    /// Part of an injection's data: the blob's argument and packet buffer at its start, its stack down from its end.
    struct Workspace {
        RemoteAddress address;
        std::uint64_t size;
    };
    static constexpr std::uint64_t minimumWorkspace = std::uint64_t{128} * 1024;

    /// `argument` arrives in DaemonArgument::argument.
    Channel(Injection& injection, Tracee& thread, Workspace workspace, std::uint64_t argument = 0);
    Channel(const Channel&) = delete;
    Channel& operator=(const Channel&) = delete;
    ~Channel();

    struct Reply {
        std::int64_t result = 0;
        std::vector<std::byte> payload;
        std::vector<UniqueFd> fds;
    };

    /// Sends a command and waits for its answer. The Error says which of these happened if the blob crashes, ends, or
    /// its thread dies; the channel is of no use then.
    Reply call(std::uint32_t command, std::span<const std::byte> payload = {}, std::span<const int> fds = {});
    /// The halves of call(), so that many processes can work at the same time. Each send() needs its receive().
    void send(std::uint32_t command, std::span<const std::byte> payload = {}, std::span<const int> fds = {});
    Reply receive();

    [[nodiscard]] int remoteSocket() const noexcept { return remoteSocket_; }

    /// Ends the blob's loop, puts the thread back and closes the socket in the process.
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
