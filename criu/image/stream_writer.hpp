// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "criu/base/byte_stream.hpp"
#include "criu/base/error.hpp"
#include "criu/image/image_outlet.hpp"
#include "criu/image/stream_format.hpp"

namespace criu {

/// Outlet that writes images as one stream (stream_format). Several threads may write blocks of several files in any
/// order. The outlet has no buffer.
class StreamWriter final : public ImageOutlet {
public:
    /// Writes the header of the stream to `out`.
    explicit StreamWriter(ByteStream out);

    [[nodiscard]] std::unique_ptr<File> create(const std::string& name) override;
    [[nodiscard]] bool inOrder() const noexcept override { return false; }
    void finish() override;

private:
    class StreamedFile;

    void send(stream::RecordType type, std::uint32_t file, std::uint64_t offset, std::span<const std::byte> payload);
    void sendLocked(stream::RecordType type, std::uint32_t file, std::uint64_t offset,
                    std::span<const std::byte> payload, std::uint64_t checksum);

    ByteStream out_;
    const stream::Sums sums_;
    std::mutex writing_;
    std::uint64_t id_ = 0;
    std::uint64_t records_ = 0;
    std::uint32_t files_ = 0;
    std::uint32_t unfinished_ = 0;
    /// Error of a failed write. The write may have left an incomplete record, so all later writes throw this error.
    std::optional<Error> failure_;
};

}  // namespace criu
