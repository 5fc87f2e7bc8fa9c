// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/writer.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/written_sums.hpp"

namespace criu {
namespace {

constexpr std::size_t kFirstBuffer = std::size_t{4} << 10;
constexpr std::size_t kFlushAt = std::size_t{256} << 10;

void append(std::vector<std::byte>& buffer, const void* data, std::size_t size) {
    const auto* const bytes = static_cast<const std::byte*>(data);
    buffer.insert(buffer.end(), bytes, bytes + size);
}

void appendMagics(std::vector<std::byte>& buffer, ImageKind kind) {
    const ImageInfo& info = imageInfo(kind);
    if (info.framing == Framing::Raw)
        return;
    buffer.reserve(kFirstBuffer);
    if (info.framing != Framing::TypeMagic) {
        const std::uint32_t head = info.framing == Framing::Service ? kServiceMagic : kCommonMagic;
        append(buffer, &head, sizeof(head));
    }
    append(buffer, &info.magic, sizeof(info.magic));
}

void appendRecord(std::vector<std::byte>& buffer, const ProtobufCMessage& message) {
    const std::size_t size = encodedSize(message);
    if (size > kMaxRecordSize)
        fail("a {} of {} bytes exceeds the limit of {}", message.descriptor->name, size, kMaxRecordSize);
    const auto prefix = static_cast<std::uint32_t>(size);
    const std::size_t start = buffer.size();
    buffer.resize(start + sizeof(prefix) + size);
    std::memcpy(buffer.data() + start, &prefix, sizeof(prefix));
    ::protobuf_c_message_pack(&message, reinterpret_cast<std::uint8_t*>(buffer.data() + start + sizeof(prefix)));
}

}  // namespace

std::vector<std::byte> imageOf(ImageKind kind, const ProtobufCMessage& record) {
    std::vector<std::byte> image;
    appendMagics(image, kind);
    appendRecord(image, record);
    return image;
}

ImageWriter::ImageWriter(UniqueFd fd, ImageKind kind, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {
    appendMagics(buffer_, kind);
}

ImageWriter::~ImageWriter() = default;
ImageWriter::ImageWriter(ImageWriter&&) noexcept = default;
ImageWriter& ImageWriter::operator=(ImageWriter&&) noexcept = default;

void ImageWriter::sumInto(std::shared_ptr<WrittenSums> sums) {
    sums_ = std::move(sums);
    summing_ = std::make_unique<FileSumming>(sums_->checksum());
}

void ImageWriter::writeAny(const ProtobufCMessage& message) {
    const ErrorContext context([&] { return name_; });
    appendRecord(buffer_, message);
    if (buffer_.size() >= kFlushAt)
        writeOut();
}

void ImageWriter::payload(std::span<const std::byte> bytes) {
    if (buffer_.size() + bytes.size() >= kFlushAt) {
        writeOut();
        if (bytes.size() >= kFlushAt) {
            writeAll(bytes);
            return;
        }
    }
    append(buffer_, bytes.data(), bytes.size());
}

void ImageWriter::zeros(std::size_t count) {
    buffer_.resize(buffer_.size() + count);
}

int ImageWriter::flush() {
    writeOut();
    summing_.reset();  // the caller will write to the descriptor, and the writer can't compute checksums of these bytes
    return fd_.get();
}

void ImageWriter::writeOut() {
    writeAll(buffer_);
    buffer_.clear();
}

void ImageWriter::finish() {
    writeOut();
    if (summing_)
        sums_->add(summing_->finish(name_));
    closeWritten(std::move(fd_), name_);
}

void ImageWriter::writeAll(std::span<const std::byte> bytes) {
    if (summing_)
        summing_->add(bytes);
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
