// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/writer.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "criu/base/error.hpp"

namespace criu {
namespace {

constexpr std::size_t kFirstBuffer = std::size_t{4} << 10;
constexpr std::size_t kFlushAt = std::size_t{256} << 10;

}  // namespace

ImageWriter::ImageWriter(UniqueFd fd, ImageKind kind, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {
    const ImageInfo& info = imageInfo(kind);
    if (info.framing == Framing::Raw)
        return;
    buffer_.reserve(kFirstBuffer);
    if (info.framing != Framing::TypeMagic) {
        const std::uint32_t head = info.framing == Framing::Service ? kServiceMagic : kCommonMagic;
        append(&head, sizeof(head));
    }
    append(&info.magic, sizeof(info.magic));
}

void ImageWriter::writeAny(const ProtobufCMessage& message) {
    const ErrorContext context([&] { return name_; });
    const std::size_t size = encodedSize(message);
    if (size > kMaxRecordSize)
        fail("a {} of {} bytes exceeds the limit of {}", message.descriptor->name, size, kMaxRecordSize);
    const auto prefix = static_cast<std::uint32_t>(size);
    const std::size_t start = buffer_.size();
    buffer_.resize(start + sizeof(prefix) + size);
    std::memcpy(buffer_.data() + start, &prefix, sizeof(prefix));
    ::protobuf_c_message_pack(&message, reinterpret_cast<std::uint8_t*>(buffer_.data() + start + sizeof(prefix)));
    if (buffer_.size() >= kFlushAt)
        flush();
}

void ImageWriter::payload(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() >= kFlushAt) {
        flush();
        if (bytes.size() >= kFlushAt) {
            writeAll(bytes);
            return;
        }
    }
    append(bytes.data(), bytes.size());
}

void ImageWriter::zeros(std::size_t count) {
    buffer_.resize(buffer_.size() + count);
}

int ImageWriter::flush() {
    writeAll(buffer_);
    buffer_.clear();
    return fd_.get();
}

void ImageWriter::finish() {
    flush();
    // close(2) reports what network file systems put off. The descriptor is gone even then.
    if (::close(fd_.release()) < 0)
        failErrno("{}: close", name_);
}

void ImageWriter::append(const void* data, std::size_t size) {
    const auto* const bytes = static_cast<const std::byte*>(data);
    buffer_.insert(buffer_.end(), bytes, bytes + size);
}

void ImageWriter::writeAll(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
        if (written < 0) {
            if (errno == EINTR)
                continue;
            failErrno("{}: write {} bytes", name_, bytes.size());
        }
        bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
}

}  // namespace criu
