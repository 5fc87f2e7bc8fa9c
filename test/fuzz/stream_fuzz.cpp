// SPDX-License-Identifier: GPL-2.0-only
// Input: the part of a stream behind its head, as records without checksums (type, file, offset, size, payload). The
// target adds the checksums, because no input would have valid ones. An accepted stream must create as many files as it
// announces; a refused stream leaves no file.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "criu/base/byte_stream.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/stream_format.hpp"
#include "criu/image/stream_reader.hpp"
#include "test/fuzz/input.hpp"

namespace {

using namespace criu;

template <typename Number>
Number take(std::span<const std::uint8_t>& input) {
    Number number{};
    const std::size_t size = std::min(sizeof(number), input.size());
    std::memcpy(&number, input.data(), size);
    input = input.subspan(size);
    return number;
}

void append(std::vector<std::uint8_t>& to, const void* from, std::size_t size) {
    const auto* const bytes = static_cast<const std::uint8_t*>(from);
    to.insert(to.end(), bytes, bytes + size);
}

std::vector<std::uint8_t> streamOf(std::span<const std::uint8_t> input) {
    const stream::Sums sums;
    std::vector<std::uint8_t> out;
    stream::Head head;
    head.checksum = sums.of(head);
    append(out, &head, sizeof(head));
    for (std::uint64_t number = 0; !input.empty(); ++number) {
        stream::RecordHead record;
        record.type = take<std::uint8_t>(input);
        record.file = take<std::uint8_t>(input);
        record.number = number;
        record.offset = take<std::uint64_t>(input);
        if (record.offset < stream::kLongestFile)
            record.offset %= std::uint64_t{1} << 40;  // keeps below the file system's limit, which isn't tested here
        const auto payload = input.first(std::min<std::size_t>(take<std::uint8_t>(input), input.size()));
        record.size = payload.size();
        record.payloadChecksum = sums.of(std::as_bytes(payload), head.id);
        record.checksum = sums.of(record, head.id);
        append(out, &record, sizeof(record));
        append(out, payload.data(), payload.size());
        input = input.subspan(payload.size());
    }
    return out;
}

std::size_t filesIn(const ImageDir& images) {
    return namesIn(images).size() - 2;  // without "." and ".."
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string folder = "/tmp/criu-stream-fuzz-XXXXXX";
    if (::mkdtemp(folder.data()) == nullptr)
        return 0;
    {
        const ImageDir images = ImageDir::open(folder);
        StopRequest stop;
        ByteStream in(fuzz::fileOf(streamOf({data, size})), stop, std::chrono::seconds(0), "the stream");
        try {
            const StreamAmounts amounts = receiveStream(in, images);
            fuzz::require(amounts.files == filesIn(images));
        } catch (const Error&) {
            fuzz::require(filesIn(images) == 0);
        }
        for (const std::string& name : namesIn(images))
            ::unlinkat(images.fd(), name.c_str(), 0);
    }
    ::rmdir(folder.c_str());
    return 0;
}
