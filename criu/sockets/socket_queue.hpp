// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/mapping.hpp"
#include "criu/image/image_dir.hpp"

namespace criu::files {
class FileDump;
}

/// Queues of sockets: received data, descriptors in flight and credentials. The image is sk-queues.img.
namespace criu::sockets {

/// Memory to copy the queue of a socket, which serves one socket after the other.
struct PeekMemory {
    std::vector<std::byte> buffer;
    Mapping wall;  ///< page without access, so that copying to it fails
};

/// Dumps queues of sockets. Removes nothing from the queues.
class SocketQueueDump {
public:
    /// Copies the queue of the Unix socket `fd` to the image. Also dumps the files in flight; one of them may be a
    /// socket with a queue, for which this function calls itself. During the call, the socket has different values of
    /// SO_PEEK_OFF and SO_PASSCRED. Throws Error for out-of-band data. `type`: the socket's SOCK_ constant. `waiting`:
    /// number of bytes in the queue of a stream.
    void add(int fd, int type, std::size_t waiting, FileId socket, files::FileDump& dump);

    void finish();

private:
    std::optional<ImageWriter> writer_;
    std::vector<PeekMemory> spare_;  ///< memory that no call of add() uses; these calls nest
};

/// Message in a queue, or a part of a stream.
struct QueuedPacket {
    std::uint64_t offset = 0;  ///< file offset of the packet's data in the image
    std::uint32_t length = 0;
    std::vector<std::byte> data;  ///< `length` bytes, or none if QueueFiller must read them
    std::vector<FileId> rights;
    std::optional<ucred> sender;
    std::string address;  ///< sun_path of the sender's socket; empty if unknown
};

/// Table of the dumped queues. load() reads small packets, and the positions of others in the image; QueueFiller reads
/// the data of the others.
class SocketQueues {
public:
    void load(const ImageDir& images);

    /// Returns the packets in the order of sending.
    [[nodiscard]] std::span<const QueuedPacket> of(FileId socket) const;

private:
    std::map<FileId, std::vector<QueuedPacket>> queues_;
};

/// Fills the queues of restored sockets by sending the dumped packets. The send buffers of the senders stay enlarged.
class QueueFiller {
public:
    /// `find`: returns the descriptor of a file in flight. `toServiceRange`: moves a descriptor into the service range.
    /// `numberOf`: returns the pid of a process in the caller's pid namespace.
    QueueFiller(const ImageDir& images, std::function<int(FileId)> find,
                std::function<UniqueFd(UniqueFd)> toServiceRange, std::function<pid_t(TreePid)> numberOf)
        : images_(images),
          find_(std::move(find)),
          toServiceRange_(std::move(toServiceRange)),
          numberOf_(std::move(numberOf)) {}

    /// Sends `packet` by the socket `sender`. `to`: address of the receiver; empty if `sender` is connected to it.
    void send(int sender, const QueuedPacket& packet, std::string_view to = {});

private:
    [[nodiscard]] std::vector<std::byte> read(const QueuedPacket& packet);

    const ImageDir& images_;
    std::function<int(FileId)> find_;
    std::function<UniqueFd(UniqueFd)> toServiceRange_;
    std::function<pid_t(TreePid)> numberOf_;
    UniqueFd image_;
};

}  // namespace criu::sockets
