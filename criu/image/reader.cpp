// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/reader.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"

namespace criu {
namespace {

// Bytes of one read(2). Most images are smaller, so they need one allocation and one read(2).
constexpr std::size_t kBufferSize = std::size_t{64} << 10;

}  // namespace

ImageReader::ImageReader(UniqueFd fd, ImageKind kind, std::string name, ImageVersion version, Log* losses)
    : fd_(std::move(fd)), name_(std::move(name)), losses_(losses) {
    struct stat status {};
    sys(::fstat(fd_.get(), &status), "{}: fstat", name_);
    if (S_ISREG(status.st_mode))
        fileSize_ = static_cast<std::uint64_t>(status.st_size);
    checkMagics(kind, version);
}

void ImageReader::checkMagics(ImageKind kind, ImageVersion version) {
    const ImageInfo& info = imageInfo(kind);
    if (info.framing == Framing::Raw)
        return;
    if (info.framing != Framing::TypeMagic && version != ImageVersion::V1) {
        const std::uint32_t head = takeMagic();
        // Service files of some older dumps begin with the common magic.
        if (head != kCommonMagic && !(info.framing == Framing::Service && head == kServiceMagic))
            fail("{}: starts with {:#010x}, which is not the mark of an image", name_, head);
    }
    const std::uint32_t magic = takeMagic();
    if (magic != info.magic)
        fail("{}: has magic {:#010x}, but {} images have {:#010x}", name_, magic, info.tag, info.magic);
}

std::uint32_t ImageReader::takeMagic() {
    if (!fill(sizeof(std::uint32_t)))
        fail("{}: ends at offset {}, within its header", name_, offset() + buffered().size());
    std::uint32_t magic = 0;
    std::memcpy(&magic, buffered().data(), sizeof(magic));
    begin_ += sizeof(magic);
    return magic;
}

AnyRecord ImageReader::nextOf(const ProtobufCMessageDescriptor& descriptor) {
    if (atEnd())
        return nullptr;
    std::uint32_t size = 0;
    if (!fill(sizeof(size)))
        fail("{}: the file ends within the record's size", position());
    std::memcpy(&size, buffered().data(), sizeof(size));
    if (fileSize_ && size > *fileSize_ - std::min(*fileSize_, offset() + sizeof(size)))
        fail("{}: a record of {} bytes doesn't fit in the file's {}", position(), size, *fileSize_);
    if (size > kMaxRecordSize)
        fail("{}: a record of {} bytes exceeds the limit of {}", position(), size, kMaxRecordSize);
    if (!fill(sizeof(size) + size))
        fail("{}: the file ends within the record of {} bytes", position(), size);

    const auto body = buffered().subspan(sizeof(size), size);
    const ErrorContext context([&] { return position(); });
    std::set<UnknownField> unknown;
    AnyRecord record = decodeMessage(descriptor, body, &unknown, pool_, form_);
    if (!unknown.empty())
        reportUnknown(unknown);
    begin_ += sizeof(size) + size;
    ++record_;
    return record;
}

void ImageReader::reportUnknown(const std::set<UnknownField>& found) {
    for (const UnknownField& field : found) {
        if (!unknown_.insert(field).second)
            continue;
        if (losses_ == nullptr)
            fail("field {} of {} isn't known to this criu: a newer or another criu wrote it", field.number,
                 field.message);
        losses_->loss(Loss::ImageFields,
                      "{}: field {} of {} isn't known to this criu: a newer or another criu wrote it, and its state is "
                      "lost",
                      name_, field.number, field.message);
    }
}

void ImageReader::failMissing(const ProtobufCMessageDescriptor& descriptor) const {
    fail("{}: the file ends where a {} is required", position(), descriptor.name);
}

std::string ImageReader::position() const {
    return fmt::format("{}: record {} at offset {}", name_, record_, offset());
}

void ImageReader::readPayload(std::span<std::byte> target) {
    checkRemaining(target.size());
    const auto ready = buffered().first(std::min(target.size(), buffered().size()));
    std::copy(ready.begin(), ready.end(), target.begin());
    begin_ += ready.size();
    target = target.subspan(ready.size());
    if (target.size() <= kBufferSize / 4) {
        if (!fill(target.size()))
            fail("{}: the file ends within a payload", position());
        std::copy_n(buffered().begin(), target.size(), target.begin());
        begin_ += target.size();
        return;
    }
    // The buffer is empty here, and the loop reads the large payload directly into the target.
    while (!target.empty()) {
        const std::size_t got = readSome(target.data(), target.size());
        if (got == 0)
            fail("{}: the file ends {} bytes before a payload does", position(), target.size());
        bufferOffset_ += got;
        target = target.subspan(got);
    }
}

std::vector<std::byte> ImageReader::payload(std::uint64_t size) {
    checkRemaining(size);
    std::vector<std::byte> content;
    while (content.size() < size) {
        // The result grows with the received bytes: the sender of a pipe may announce more bytes than it sends.
        const std::size_t have = content.size();
        const std::size_t missing = static_cast<std::size_t>(size) - have;
        content.resize(have + (fileSize_ ? missing : std::min(missing, std::max(have, kBufferSize))));
        readPayload(std::span(content).subspan(have));
    }
    return content;
}

void ImageReader::skipPayload(std::uint64_t size) {
    checkRemaining(size);
    const std::size_t ready = std::min<std::uint64_t>(size, buffered().size());
    begin_ += ready;
    size -= ready;
    if (size == 0)
        return;
    if (fileSize_) {
        bufferOffset_ = offset() + size;
        begin_ = end_ = 0;
        sys(::lseek(fd_.get(), static_cast<off_t>(bufferOffset_), SEEK_SET), "{}: seek to {}", name_, bufferOffset_);
        return;
    }
    while (size > 0) {
        const std::size_t step = std::min<std::uint64_t>(size, kBufferSize);
        if (!fill(step))
            fail("{}: the file ends within a payload", position());
        begin_ += step;
        size -= step;
    }
}

std::vector<std::byte> ImageReader::rest(std::size_t limit) {
    std::vector<std::byte> content;
    while (!atEnd()) {
        const auto ready = buffered();
        if (ready.size() > limit - content.size())
            fail("{}: more than {} bytes follow", position(), limit);
        content.insert(content.end(), ready.begin(), ready.end());
        begin_ += ready.size();
    }
    return content;
}

void ImageReader::expectEnd() {
    if (!atEnd())
        fail("{}: the file should end here, but more bytes follow", position());
}

bool ImageReader::atEnd() {
    return !fill(1) && buffered().empty();
}

void ImageReader::checkRemaining(std::uint64_t size) const {
    if (fileSize_ && size > *fileSize_ - std::min(*fileSize_, offset()))
        fail("{}: a payload of {} bytes doesn't fit in the file's {}", position(), size, *fileSize_);
}

// Reads until the buffer has at least `size` unread bytes. Returns false if the file has fewer bytes.
bool ImageReader::fill(std::size_t size) {
    while (end_ - begin_ < size) {
        const std::uint64_t known = bufferOffset_ + end_;
        if (fileSize_ && known >= *fileSize_)
            return false;
        // The buffer grows with the received bytes: the sender of a pipe may announce more bytes than it sends.
        const std::size_t missing = size - (end_ - begin_);
        reserve(end_ - begin_ + (fileSize_ ? missing : std::min(missing, std::max(end_ - begin_, kBufferSize))));
        const std::size_t got = readSome(buffer_.get() + end_, capacity_ - end_);
        if (got == 0)
            return false;
        end_ += got;
    }
    return true;
}

// Makes space for `size` bytes from begin_ on; moves unread bytes to the start of the buffer if needed.
void ImageReader::reserve(std::size_t size) {
    if (capacity_ - begin_ >= size)
        return;
    std::size_t wanted = std::max(size, kBufferSize);
    if (capacity_ == 0 && fileSize_)
        wanted = std::max<std::size_t>(size, std::min<std::uint64_t>(*fileSize_, kBufferSize));
    if (wanted > capacity_) {
        auto larger = std::make_unique_for_overwrite<std::byte[]>(wanted);
        std::copy(buffer_.get() + begin_, buffer_.get() + end_, larger.get());
        buffer_ = std::move(larger);
        capacity_ = wanted;
    } else {
        std::copy(buffer_.get() + begin_, buffer_.get() + end_, buffer_.get());
    }
    bufferOffset_ += begin_;
    end_ -= begin_;
    begin_ = 0;
}

std::size_t ImageReader::readSome(std::byte* target, std::size_t size) {
    for (;;) {
        const ssize_t got = ::read(fd_.get(), target, size);
        if (got >= 0)
            return static_cast<std::size_t>(got);
        if (errno != EINTR)
            failErrno("{}: read {} bytes", name_, size);
    }
}

}  // namespace criu
