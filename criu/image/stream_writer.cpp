// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/stream_writer.hpp"

#include <sys/random.h>

#include <algorithm>
#include <utility>

#include "criu/base/error.hpp"

namespace criu {

using stream::RecordType;

class StreamWriter::StreamedFile final : public ImageOutlet::File {
public:
    StreamedFile(StreamWriter& owner, std::uint32_t number) noexcept : owner_(owner), number_(number) {}

    void write(std::uint64_t offset, std::span<const std::byte> bytes) override {
        while (!bytes.empty()) {
            const auto piece = bytes.first(std::min<std::uint64_t>(bytes.size(), stream::kMostPayload));
            owner_.send(RecordType::Data, number_, offset, piece);
            offset += piece.size();
            bytes = bytes.subspan(piece.size());
        }
    }

    void finish(std::uint64_t size) override { owner_.send(RecordType::Close, number_, size, {}); }

private:
    StreamWriter& owner_;
    const std::uint32_t number_;
};

StreamWriter::StreamWriter(ByteStream out) : out_(std::move(out)) {
    stream::Head head;
    if (::getrandom(&head.id, sizeof(head.id), 0) != sizeof(head.id))
        failErrno("get a random number");
    head.checksum = sums_.of(head);
    id_ = head.id;
    out_.write(std::as_bytes(std::span(&head, 1)));
}

std::unique_ptr<ImageOutlet::File> StreamWriter::create(const std::string& name) {
    if (!stream::isFileName(name))
        fail("a file can't have the name \"{}\" in a stream", name);
    const std::lock_guard lock(writing_);
    if (unfinished_ == stream::kMostOpen)
        fail("more than {} files are under way at once", stream::kMostOpen);
    const std::uint32_t number = files_;
    const auto text = std::as_bytes(std::span(name));
    sendLocked(RecordType::Open, number, 0, text, sums_.of(text, id_));
    ++files_;
    ++unfinished_;
    return std::make_unique<StreamedFile>(*this, number);
}

void StreamWriter::finish() {
    if (unfinished_ != 0)
        fail("{} files of the stream are incomplete", unfinished_);
    send(RecordType::End, 0, files_, {});
    out_.close();
}

void StreamWriter::send(RecordType type, std::uint32_t file, std::uint64_t offset, std::span<const std::byte> payload) {
    const std::uint64_t checksum = sums_.of(payload, id_);
    const std::lock_guard lock(writing_);
    sendLocked(type, file, offset, payload, checksum);
}

void StreamWriter::sendLocked(RecordType type, std::uint32_t file, std::uint64_t offset,
                              std::span<const std::byte> payload, std::uint64_t checksum) {
    if (failure_)
        throw Error(*failure_);
    stream::RecordHead head{static_cast<std::uint32_t>(type), file, records_++, offset, payload.size(), checksum, 0};
    head.checksum = sums_.of(head, id_);
    try {
        out_.write(std::as_bytes(std::span(&head, 1)));
        out_.write(payload);
    } catch (const Error& error) {
        failure_.emplace(error);
        throw;
    }
    if (type == RecordType::Close)
        --unfinished_;
}

}  // namespace criu
