// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

// Loop of a blob that handles the commands of a compel::Channel.

#include <compel/blob/socket.hpp>
#include <compel/channel_protocol.hpp>

#include <errno.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace compel::blob {

struct Command {
    std::uint32_t number;
    std::span<const std::byte> payload;
    /// Descriptors of the command. serve() closes them after the reply, unless the handler has taken them by takeFd().
    std::span<int> fds;

    /// Returns a descriptor of the command and makes the handler its owner. Returns -1 if no descriptor has this index.
    [[nodiscard]] int takeFd(std::size_t index) const {
        if (index >= fds.size())
            return -1;
        const int fd = fds[index];
        fds[index] = -1;
        return fd;
    }
};

struct Answer {
    std::int64_t result = 0;
    /// Bytes of the reply. They may be in the memory of the command's payload.
    std::span<const std::byte> payload{};
    /// Descriptors of the reply. They may be descriptors of the command. They stay open in the process.
    std::span<const int> fds{};
};

/// Calls `handler(const Command&) -> Answer` for each command. Returns 0 after the stop command, or -errno after a
/// failed system call. If the process couldn't receive all descriptors of a command, replies -EMFILE and doesn't call
/// the handler.
template <typename Handler>
std::int64_t serve(const protocol::DaemonArgument& daemon, Handler&& handler) {
    auto* const buffer = reinterpret_cast<std::byte*>(daemon.buffer);
    int fds[protocol::maximumFds];
    for (;;) {
        const auto received = receivePacket(daemon.socket, {buffer, protocol::bufferSize}, fds);
        if (isError(received.size))
            return received.size;
        protocol::Request request{};
        if (received.size < static_cast<long>(sizeof(request)))
            return received.size == 0 ? -EPIPE : -EPROTO;
        __builtin_memcpy(&request, buffer, sizeof(request));
        if (request.size != static_cast<std::size_t>(received.size) - sizeof(request))
            return -EPROTO;
        Answer answer{};
        const bool stop = request.command == protocol::stopCommand;
        const Command command{request.command, {buffer + sizeof(request), request.size}, {fds, received.fdCount}};
        if (received.fdsLost)
            answer.result = -EMFILE;
        else if (!stop)
            answer = handler(command);
        const protocol::Reply reply{answer.result, static_cast<std::uint32_t>(answer.payload.size()), 0};
        const long sent = sendPacket(daemon.socket, std::as_bytes(std::span(&reply, 1)), answer.payload, answer.fds);
        for (const int fd : command.fds)
            if (fd >= 0)
                syscall(SYS_close, fd);
        if (isError(sent))
            return sent;
        if (stop)
            return 0;
    }
}

}  // namespace compel::blob
