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

/// Connection with criu-image-streamer for --stream. The program listens at a socket in the images directory. For
/// each file, criu sends the name and one end of a pipe. A wait ends when the program ends, when a stop is
/// requested, or after `patience` without progress (0: no limit).
struct StreamerConnection {
    StopRequest& stop;
    std::chrono::seconds patience;
};

/// Outlet to the streamer for a dump; connects to streamer-capture.sock.
class StreamerOutlet final : public ImageOutlet {
public:
    /// Throws Error if no streamer listens.
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

/// Supply from the streamer for a restore; connects to streamer-serve.sock. The streamer sends each file only once,
/// so criu stores it.
class StreamerSupply final : public ImageSupply {
public:
    /// `images` is the directory of the socket. Throws Error if no streamer listens.
    StreamerSupply(const ImageDir& images, const StreamerConnection& connection);
    ~StreamerSupply() override;

    /// Sets the destination of files, which must outlive this object. Must precede the first fetch().
    void setDirectory(const ImageDir& into) noexcept { into_ = &into; }

    void fetch(const std::string& name) const override;

    /// Replaces the descriptor of the connection by the result of `mover`.
    template <typename Mover>
    void move(Mover&& mover) {
        setSocket(mover(takeSocket()));
    }
    /// Closes the connection for the calling process. fetch() finds no files afterwards.
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
