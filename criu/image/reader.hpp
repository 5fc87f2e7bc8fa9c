// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/record.hpp"

namespace criu {

class Log;

/// Reader of an image. An image consists of magics and records: a 32-bit size and a protobuf message. Payload follows
/// some records. The reader reads a small file by one read(2). Only one thread may use a reader. Content is untrusted:
/// the reader throws Error for each inconsistency; the error names file, record and offset. The reader is unusable
/// after an error. It allocates at most the size of the file, or kMaxRecordSize for a pipe.
class ImageReader {
public:
    /// Becomes the owner of `fd`: a regular file at its start, or the read end of a pipe (streamed images). Checks the
    /// magics of `kind`. Raw kinds have no magics and only payload. `losses`: log of the losses of unknown fields
    /// (Loss::ImageFields), which must outlive the object; if null, the reader throws Error for an unknown field.
    ImageReader(UniqueFd fd, ImageKind kind, std::string name, ImageVersion version = ImageVersion::V1_1,
                Log* losses = nullptr);

    /// Stores the records that the reader decodes from now on in `pool`, which must outlive them.
    void storeIn(RecordPool& pool) noexcept { pool_ = &pool; }

    /// Makes the reader accept only records in canonical form.
    void requireCanonical() noexcept { form_ = Encoding::Canonical; }

    /// Reads the next record. Returns nullopt at the end of the file.
    template <Message T>
    std::optional<Record<T>> next() {
        AnyRecord record = nextOf(*MessageTraits<T>::descriptor);
        if (!record)
            return std::nullopt;
        return Record<T>(std::move(record));
    }

    /// Reads the next record with a message type that is known only at run time (imageInfo().record). Returns null at
    /// the end of the file.
    AnyRecord nextOf(const ProtobufCMessageDescriptor& descriptor);

    /// Reads the next record. Throws Error at the end of the file.
    template <Message T>
    Record<T> one() {
        auto record = next<T>();
        if (!record)
            failMissing(*MessageTraits<T>::descriptor);
        return std::move(*record);
    }

    /// Reads the only record of the file. Throws Error if more data follows.
    template <Message T>
    Record<T> only() {
        Record<T> record = one<T>();
        expectEnd();
        return record;
    }

    /// Reads all remaining records.
    template <Message T>
    std::vector<Record<T>> all() {
        std::vector<Record<T>> records;
        while (auto record = next<T>())
            records.push_back(std::move(*record));
        return records;
    }

    /// Fills `target` with the next bytes of payload.
    void readPayload(std::span<std::byte> target);
    /// Reads `size` bytes of payload. Allocates memory only for bytes that the file contains.
    std::vector<std::byte> payload(std::uint64_t size);
    /// Skips `size` bytes of payload. Throws Error if the file has fewer bytes.
    void skipPayload(std::uint64_t size);
    /// Reads all bytes up to the end of the file. Throws Error if there are more than `limit`.
    std::vector<std::byte> rest(std::size_t limit);
    /// Throws Error if the file has unread bytes.
    void expectEnd();

    /// Returns the file offset of the next record or payload. In a regular file, the caller may read payload by
    /// pread(2) from fd() at this offset, and then calls skipPayload().
    [[nodiscard]] std::uint64_t offset() const noexcept { return bufferOffset_ + begin_; }
    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    [[noreturn]] void failMissing(const ProtobufCMessageDescriptor& descriptor) const;
    [[nodiscard]] std::string position() const;

    void reportUnknown(const std::set<UnknownField>& found);
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
    std::optional<std::uint64_t> fileSize_;  // size of the file in bytes; unset for a pipe
    std::unique_ptr<std::byte[]> buffer_;
    std::size_t capacity_ = 0;
    std::size_t begin_ = 0;           // index of the first unread byte in buffer_
    std::size_t end_ = 0;             // index after the last valid byte in buffer_
    std::uint64_t bufferOffset_ = 0;  // file offset of buffer_[0]
    std::uint64_t record_ = 0;        // number of records that were read
    Log* losses_ = nullptr;
    RecordPool* pool_ = nullptr;
    Encoding form_ = Encoding::Any;
    std::set<UnknownField> unknown_;  // unknown fields that were found in earlier records
};

}  // namespace criu
