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

/// What waits in sockets to be received: data, descriptors in flight, credentials. Image sk-queues.img.
namespace criu::sockets {

/// Dump half: copies queues without taking anything out.
class SocketQueueDump {
public:
    /// Copies the queue of the Unix socket behind `fd`, of SOCK_… `type`; of a stream `waiting` bytes. Descriptors in
    /// it are dumped as files, and so are their own queues: so this function is called again from inside of
    /// itself. The socket's options SO_PEEK_OFF and SO_PASSCRED are changed while it runs. Throws Error for out-of-band
    /// data.
    void add(int fd, int type, std::size_t waiting, FileId socket, files::FileDump& dump);

    void finish();

private:
    std::optional<ImageWriter> writer_;
};

/// A message, or a piece of a stream, that waits in a queue.
struct QueuedPacket {
    std::uint64_t offset = 0;  ///< of its data in the image
    std::uint32_t length = 0;
    std::vector<FileId> rights;
    std::optional<ucred> sender;
    std::string address;  ///< sun_path of the sender's socket; may be unknown
};

/// Restore half: an index made before processes exist; data is read when a queue is filled.
class SocketQueues {
public:
    void load(const ImageDir& images);

    /// In the order in which they were sent.
    [[nodiscard]] std::span<const QueuedPacket> of(FileId socket) const;

private:
    std::map<FileId, std::vector<QueuedPacket>> queues_;
};

/// Sends packets through `sender`, which is connected to the socket they wait in; its send buffer is left enlarged.
class QueueFiller {
public:
    /// `find` gives descriptors for files in flight, `toServiceRange` moves one out of the numbers of restored files,
    /// `numberOf` says what this process calls one of the tree.
    QueueFiller(const ImageDir& images, std::function<int(FileId)> find,
                std::function<UniqueFd(UniqueFd)> toServiceRange, std::function<pid_t(TreePid)> numberOf)
        : images_(images),
          find_(std::move(find)),
          toServiceRange_(std::move(toServiceRange)),
          numberOf_(std::move(numberOf)) {}

    /// `to`: for datagrams whose sender isn't connected there; empty otherwise.
    void send(int sender, const QueuedPacket& packet, std::string_view to = {});

private:
    const ImageDir& images_;
    std::function<int(FileId)> find_;
    std::function<UniqueFd(UniqueFd)> toServiceRange_;
    std::function<pid_t(TreePid)> numberOf_;
    UniqueFd image_;
};

}  // namespace criu::sockets
