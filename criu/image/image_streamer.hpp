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

/// The other side of --stream: criu-image-streamer, a program that listens at a socket in the images directory. For
/// each file criu names it, and hands over one end of a pipe. Every wait for it ends: when it is gone, when a stop is
/// requested, and when it does nothing for `patience` (0: as long as it likes).
struct StreamerConnection {
    StopRequest& stop;
    std::chrono::seconds patience;
};

/// Takes the images of a dump; connects to streamer-capture.sock.
class StreamerOutlet final : public ImageOutlet {
public:
    /// Throws Error if nobody listens there.
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

/// Has the images of a restore; connects to streamer-serve.sock. Each can be had once, and is kept from then on.
class StreamerSupply final : public ImageSupply {
public:
    /// `images`: where the socket is. Throws Error if nobody listens there.
    StreamerSupply(const ImageDir& images, const StreamerConnection& connection);
    ~StreamerSupply() override;

    /// Where files are put, which outlives this object. Before the first fetch().
    void setDirectory(const ImageDir& into) noexcept { into_ = &into; }

    void fetch(const std::string& name) const override;

    /// The descriptor of the connection becomes what `mover` makes of it.
    template <typename Mover>
    void move(Mover&& mover) {
        setSocket(mover(takeSocket()));
    }
    /// No more files are wanted; fetch() finds nothing from now on. For the calling process only.
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
