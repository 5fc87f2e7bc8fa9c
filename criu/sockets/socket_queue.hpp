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
#include "criu/image/image_dir.hpp"

namespace criu::files {
class FileDump;
}

/// Queues of sockets: received data, descriptors in flight, credentials. Image sk-queues.img.
namespace criu::sockets {

/// Dump half. Copies queues without removing anything.
class SocketQueueDump {
public:
    /// Copies the queue of the Unix socket `fd`. `type`: SOCK_…; `waiting`: bytes in the queue of a stream. Descriptors
    /// in flight are dumped as files with their own queues, so this function is called recursively. It changes
    /// SO_PEEK_OFF and SO_PASSCRED of the socket while it runs. Throws Error for out-of-band data.
    void add(int fd, int type, std::size_t waiting, FileId socket, files::FileDump& dump);

    void finish();

private:
    std::optional<ImageWriter> writer_;
};

/// A message, or a part of a stream, in a queue.
struct QueuedPacket {
    std::uint64_t offset = 0;  ///< position of its data in the image
    std::uint32_t length = 0;
    std::vector<FileId> rights;
    std::optional<ucred> sender;
    std::string address;  ///< sun_path of the sender's socket; empty if unknown
};

/// Restore half. Its index is made before processes exist; data is read when a queue is filled.
class SocketQueues {
public:
    void load(const ImageDir& images);

    /// Returns the packets in the order of sending.
    [[nodiscard]] std::span<const QueuedPacket> of(FileId socket) const;

private:
    std::map<FileId, std::vector<QueuedPacket>> queues_;
};

/// Sends packets by `sender`, which is connected to the receiving socket. Leaves the send buffer enlarged.
class QueueFiller {
public:
    /// `find` returns descriptors of files in flight. `toServiceRange` moves a descriptor to the service range.
    /// `numberOf` returns the pid of a process in this process' pid namespace.
    QueueFiller(const ImageDir& images, std::function<int(FileId)> find,
                std::function<UniqueFd(UniqueFd)> toServiceRange, std::function<pid_t(TreePid)> numberOf)
        : images_(images),
          find_(std::move(find)),
          toServiceRange_(std::move(toServiceRange)),
          numberOf_(std::move(numberOf)) {}

    /// Sends a packet. `to`: address for datagrams if `sender` isn't connected to the receiver; else empty.
    void send(int sender, const QueuedPacket& packet, std::string_view to = {});

private:
    const ImageDir& images_;
    std::function<int(FileId)> find_;
    std::function<UniqueFd(UniqueFd)> toServiceRange_;
    std::function<pid_t(TreePid)> numberOf_;
    UniqueFd image_;
};

}  // namespace criu::sockets
