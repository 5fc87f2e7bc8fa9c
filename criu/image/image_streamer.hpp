// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <chrono>
#include <memory>

#include "criu/base/process_lock.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/image_outlet.hpp"
#include "criu/image/image_supply.hpp"

namespace criu {

class ImageDir;
class StopRequest;

/// Parameters of a connection with criu-image-streamer (--stream). The streamer listens at a socket in the images
/// directory. For each file, criu sends the file's name and one end of a pipe. A wait ends when the streamer ends, when
/// a stop is requested, or after `patience` without progress (0: no limit).
struct StreamerConnection {
    StopRequest& stop;
    std::chrono::seconds patience;
};

/// Outlet that sends images of a dump to the streamer through the socket streamer-capture.sock.
class StreamerOutlet final : public ImageOutlet {
public:
    /// Connects to the streamer. Throws Error if no streamer listens.
    StreamerOutlet(const ImageDir& images, const StreamerConnection& connection);
    ~StreamerOutlet() override;

    [[nodiscard]] std::unique_ptr<File> create(const std::string& name) override;
    [[nodiscard]] bool inOrder() const noexcept override { return true; }
    void finish() override;

private:
    class Pipe;
    class Link;

    std::unique_ptr<Link> link_;
};

/// Supply that receives images for a restore from the streamer, through the socket streamer-serve.sock. The streamer
/// sends each file only once, so criu stores received files in a directory.
class StreamerSupply final : public ImageSupply {
public:
    /// Connects to the streamer. `images`: directory that contains the socket. Throws Error if no streamer listens.
    StreamerSupply(const ImageDir& images, const StreamerConnection& connection);
    ~StreamerSupply() override;

    /// Sets the directory for received files. The directory object must outlive this object. Must precede the first
    /// fetch().
    void setDirectory(const ImageDir& into) noexcept { into_ = &into; }

    void fetch(const std::string& name) const override;

    /// Calls `mover` for the descriptor of the connection, and keeps the result instead. `mover` moves the descriptor
    /// to another number.
    template <typename Mover>
    void move(Mover&& mover) {
        setSocket(mover(takeSocket()));
    }
    /// Closes the connection in the calling process. Later calls of fetch() find no files.
    void close() noexcept;

private:
    class Link;

    [[nodiscard]] UniqueFd takeSocket();
    void setSocket(UniqueFd socket);
    void receive(UniqueFd pipe, const std::string& name) const;

    std::unique_ptr<Link> link_;
    const ImageDir* into_ = nullptr;
    ProcessLock turn_;
};

}  // namespace criu
