// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/usernsd.hpp"

/// Unread content of pipes and fifos, in the images pipes-data.img and fifo-data.img.
namespace criu::files {

/// Contents of pipes in a dump. The class copies contents by tee(2), which leaves them in the pipe.
class PipeContentsDump {
public:
    explicit PipeContentsDump(ImageKind kind) : kind_(kind) {}

    /// Writes the capacity and content of a pipe. Later calls for the same pipe do nothing. `readEnd`: descriptor of
    /// its read end.
    void add(std::uint32_t pipeId, int readEnd, const ImageDir& images);
    /// Does the same for a pipe without a reader. Opens a read end by /proc for this time; `writeEnd` is any write end.
    void addUnread(std::uint32_t pipeId, int writeEnd, const ImageDir& images);

    void finish(const ImageDir& images);

private:
    void start(const ImageDir& images);
    /// Copies the content. `packets`: gets the size of each read; for a pipe with O_DIRECT, this is the size of a
    /// packet. `lastIsPacket`: set to true if the content ends with a packet, and not with bytes to which a write would
    /// append.
    std::vector<std::byte> peek(int readEnd, std::size_t waiting, std::size_t capacity,
                                std::vector<std::uint32_t>& packets, bool& lastIsPacket);

    ImageKind kind_;
    std::set<std::uint32_t> seen_;
    std::optional<ImageWriter> writer_;
    UniqueFd scratchRead_;
    UniqueFd scratchWrite_;
    std::size_t scratchCapacity_ = 0;
};

/// Contents of pipes in a restore. load() runs before processes exist, and reads small contents and the file offsets of
/// others; fill() reads the others.
class PipeContentsRestore {
public:
    explicit PipeContentsRestore(ImageKind kind) : kind_(kind) {}

    void load(const ImageDir& images);

    /// Sets the capacity and content of a new pipe. `writeEnd` must be non-blocking. It may be a fifo that is open for
    /// reading and writing.
    void fill(std::uint32_t pipeId, int writeEnd, const ImageDir& images, const kernel::Usernsd* usernsd) const;

private:
    struct Place {
        std::uint64_t offset = 0;
        std::uint32_t bytes = 0;
        std::vector<std::byte> content;  ///< content of `bytes` bytes; empty if fill() must read it
        std::uint32_t capacity = 0;
        std::vector<std::uint32_t> packets;
    };
    static void write(std::uint32_t pipeId, int writeEnd, std::span<const std::byte> content);
    [[nodiscard]] std::vector<std::byte> read(std::uint32_t pipeId, const Place& place, const ImageDir& images) const;
    ImageKind kind_;
    std::map<std::uint32_t, Place> places_;
};

}  // namespace criu::files
