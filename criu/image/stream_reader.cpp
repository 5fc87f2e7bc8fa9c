// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/stream_reader.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "criu/base/byte_stream.hpp"
#include "criu/base/error.hpp"
#include "criu/base/names.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/stream_format.hpp"

namespace criu {
namespace {

using stream::RecordHead;
using stream::RecordType;

/// Compression format of a stream that a user may have compressed. criu refuses such a stream, and its error message
/// names the program that decompresses it.
struct Packed {
    std::string_view magic;
    std::string_view program;
};
constexpr Packed kPacked[] = {
    {"\x28\xb5\x2f\xfd", "zstd -d"}, {"\x1f\x8b", "gzip -d"}, {"\x04\x22\x4d\x18", "lz4 -d"}, {"\xfd\x37zXZ", "xz -d"}};

class Receiver {
public:
    Receiver(ByteStream& in, const ImageDir& into)
        : in_(in), into_(into), payload_(std::make_unique_for_overwrite<std::byte[]>(stream::kMostPayload)) {}

    /// Removes the created files if the stream is incomplete.
    ~Receiver() {
        for (const auto& [name, inode] : made_)
            (void)removeIfSame(into_.fd(), name.c_str(), inode);
    }
    Receiver(const Receiver&) = delete;
    Receiver& operator=(const Receiver&) = delete;

    StreamAmounts run() {
        readHead();
        while (readRecord()) {
        }
        made_.clear();
        return {files_, offset_};
    }

private:
    struct Open {
        UniqueFd fd;
        std::uint64_t end = 0;  ///< offset after the last received content
        std::string name;
    };

    void readHead() {
        stream::Head head;
        const auto bytes = std::as_writable_bytes(std::span(&head, 1));
        const std::size_t got = in_.read(bytes);
        if (got == 0)
            fail("{} ends before anything has come: its writer has failed", in_.name());
        refusePacked({reinterpret_cast<const char*>(&head), got});
        if (got < sizeof(head.magic) || head.magic != stream::kMagic)
            fail("{} isn't a stream of images", in_.name());
        if (got < sizeof(head))
            truncated(got);
        if (head.checksum != sums_.of(head))
            damaged("the head's checksum is wrong");
        if (head.version != stream::kVersion || head.flags != 0)
            fail("{} is a stream of version {} (flags {:#x}), which this criu doesn't know", in_.name(), head.version,
                 head.flags);
        id_ = head.id;
        offset_ = sizeof(head);
    }

    void refusePacked(std::string_view start) const {
        for (const Packed& packed : kPacked) {
            if (!start.starts_with(packed.magic))
                continue;
            Error error(0, fmt::format("{} isn't a stream of images", in_.name()));
            error.addHint(fmt::format("it is compressed: put `{}` in front of criu", packed.program));
            throw error;
        }
    }

    /// Reads one record. Returns false if it is the last record.
    bool readRecord() {
        RecordHead head;
        readAll(std::as_writable_bytes(std::span(&head, 1)));
        if (head.checksum != sums_.of(head, id_))
            damaged("a record's checksum is wrong");
        if (head.number != records_++)
            damaged(fmt::format("record {} comes where {} should", head.number, records_ - 1));
        if (head.size > stream::kMostPayload)
            damaged(fmt::format("a record has {} bytes", head.size));
        const std::uint64_t start = offset_;
        offset_ += sizeof(head);
        const std::span<std::byte> payload(payload_.get(), head.size);
        readAll(payload);
        if (sums_.of(payload, id_) != head.payloadChecksum)
            damaged("the checksum of what a record carries is wrong");
        offset_ = start;  // errors of take() contain offset_, which must be the start of the record
        const bool more = take(head, payload);
        offset_ = start + sizeof(head) + head.size;
        return more;
    }

    bool take(const RecordHead& head, std::span<const std::byte> payload) {
        switch (static_cast<RecordType>(head.type)) {
            case RecordType::Open:
                begin(head, {reinterpret_cast<const char*>(payload.data()), payload.size()});
                return true;
            case RecordType::Data:
                store(head, payload);
                return true;
            case RecordType::Close:
                complete(head);
                return true;
            case RecordType::End:
                if (!open_.empty())
                    damaged(fmt::format("it ends, but {} files are incomplete", open_.size()));
                if (head.offset != files_)
                    damaged(fmt::format("it should have {} files, but has {}", head.offset, files_));
                return false;
        }
        damaged(fmt::format("a record has the unknown type {}", head.type));
    }

    void begin(const RecordHead& head, std::string_view name) {
        if (head.file != files_)
            damaged(fmt::format("file {} begins where {} should", head.file, files_));
        if (!stream::isFileName(name))
            damaged("a file has a name that none may have");
        if (open_.size() == stream::kMostOpen)
            damaged("too many files are under way");
        if (made_.contains(name))
            damaged(fmt::format("{} is there twice", name));
        if (struct stat there{};
            !imageKindOf(name) && ::fstatat(into_.fd(), std::string(name).c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0)
            fail("{} has a file {}, and there is one already, which isn't an image of a dump", in_.name(), name);
        UniqueFd file = into_.createNamed(std::string(name));
        struct stat status {};
        sys(::fstat(file.get(), &status), "look at {}", name);
        made_.emplace(name, Inode::of(status));
        open_.emplace(files_++, Open{std::move(file), 0, std::string(name)});
    }

    Open& find(const RecordHead& head) {
        const auto found = open_.find(head.file);
        if (found == open_.end())
            damaged(fmt::format("a record is of file {}, which isn't under way", head.file));
        return found->second;
    }

    void store(const RecordHead& head, std::span<const std::byte> payload) {
        Open& file = find(head);
        if (head.offset > stream::kLongestFile)
            damaged(fmt::format("something is at {:#x} of a file", head.offset));
        const ErrorContext context([&file] { return file.name; });
        try {
            writeAt(file.fd.get(), payload, head.offset);
        } catch (Error& error) {
            if (error.code() == ENOSPC)
                error.addHint(
                    "a stream is held until it is restored: raise --stream-memory, or put it into a directory "
                    "with `criu stream unpack` and restore that");
            throw;
        }
        file.end = std::max(file.end, head.offset + payload.size());
    }

    void complete(const RecordHead& head) {
        Open& file = find(head);
        if (head.offset < file.end || head.offset > stream::kLongestFile)
            damaged(fmt::format("file {} has {} bytes, but {} came", head.file, head.offset, file.end));
        sys(::ftruncate(file.fd.get(), static_cast<off_t>(head.offset)), "{}: size to {} bytes", file.name,
            head.offset);
        closeWritten(std::move(file.fd), file.name);
        open_.erase(head.file);
    }

    void readAll(std::span<std::byte> into) {
        if (const std::size_t got = in_.read(into); got != into.size())
            truncated(offset_ + got);
    }

    [[noreturn]] void truncated(std::uint64_t end) const {
        fail("{} ends too early, at offset {}: its writer has failed or lost the connection", in_.name(), end);
    }

    [[noreturn]] void damaged(std::string_view what) const {
        fail("{} is damaged at offset {}: {}", in_.name(), offset_, what);
    }

    ByteStream& in_;
    const ImageDir& into_;
    const stream::Sums sums_;
    const std::unique_ptr<std::byte[]> payload_;
    std::uint64_t id_ = 0;
    std::uint64_t offset_ = 0;  ///< offset in the stream at which the next read begins
    std::uint64_t records_ = 0;
    std::uint32_t files_ = 0;
    std::map<std::uint32_t, Open> open_;
    std::map<std::string, Inode, std::less<>> made_;
};

}  // namespace

StreamAmounts receiveStream(ByteStream& in, const ImageDir& into) {
    return Receiver(in, into).run();
}

}  // namespace criu
