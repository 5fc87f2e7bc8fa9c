// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/record.hpp"

namespace criu {

/// Reads an image from its start: magics, then records, each a 32-bit size and a protobuf message, with payload behind
/// some of them. Small files take one read(2). Content is not trusted: every inconsistency is an Error that names
/// file, record and offset, and memory use is bounded by the file's size (kMaxRecordSize for pipes).
/// Errors leave the reader unusable. One reader belongs to one thread; different readers are independent.
class ImageReader {
public:
    /// Takes over `fd`, positioned at the start of a regular file or the read end of a pipe (streamed images), and
    /// checks the magics of `kind`. For raw kinds nothing is checked and only payload can be read.
    ImageReader(UniqueFd fd, ImageKind kind, std::string name, ImageVersion version = ImageVersion::V1_1);

    /// The next record, or nothing at the end of the file.
    template <Message T>
    std::optional<Record<T>> next() {
        AnyRecord record = nextOf(*MessageTraits<T>::descriptor);
        if (!record)
            return std::nullopt;
        return Record<T>(reinterpret_cast<T*>(record.release()));
    }

    /// Same, for a message type that is known at run time only (imageInfo().record); null at the end of the file.
    AnyRecord nextOf(const ProtobufCMessageDescriptor& descriptor);

    /// The next record; an Error when there is none.
    template <Message T>
    Record<T> one() {
        auto record = next<T>();
        if (!record)
            failMissing(*MessageTraits<T>::descriptor);
        return std::move(*record);
    }

    /// The file's only record: nothing may be behind it.
    template <Message T>
    Record<T> only() {
        Record<T> record = one<T>();
        expectEnd();
        return record;
    }

    /// All remaining records.
    template <Message T>
    std::vector<Record<T>> all() {
        std::vector<Record<T>> records;
        while (auto record = next<T>())
            records.push_back(std::move(*record));
        return records;
    }

    /// Fills `target` with the bytes that follow.
    void readPayload(std::span<std::byte> target);
    /// The `size` bytes that follow; memory is taken only for what is there.
    std::vector<std::byte> payload(std::uint64_t size);
    /// Moves over `size` bytes of payload, all of which must exist.
    void skipPayload(std::uint64_t size);
    /// Everything up to the end, at most `limit` bytes.
    std::vector<std::byte> rest(std::size_t limit);
    /// Error unless everything was read.
    void expectEnd();

    /// Where the next record or payload begins, in bytes from the start of the file. A regular file's payload may be
    /// read there with pread(fd()); then move over it with skipPayload().
    [[nodiscard]] std::uint64_t offset() const noexcept { return bufferOffset_ + begin_; }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    [[noreturn]] void failMissing(const ProtobufCMessageDescriptor& descriptor) const;
    [[nodiscard]] std::string position() const;

    void checkMagics(ImageKind kind, ImageVersion version);
    std::uint32_t takeMagic();
    bool atEnd();
    void checkRemaining(std::uint64_t size) const;
    std::span<const std::byte> buffered() const noexcept { return {buffer_.get() + begin_, end_ - begin_}; }
    bool fill(std::size_t size);
    void reserve(std::size_t size);
    std::size_t readSome(std::byte* target, std::size_t size);

    UniqueFd fd_;
    std::string name_;
    std::optional<std::uint64_t> fileSize_;  // none: a pipe
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;           // of unread bytes in buffer_
    std::size_t end_ = 0;             // of valid bytes in buffer_
    std::uint64_t bufferOffset_ = 0;  // file offset of buffer_[0]
    std::uint64_t record_ = 0;        // records read so far
};

}  // namespace criu
