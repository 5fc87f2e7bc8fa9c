// SPDX-License-Identifier: GPL-2.0-only
// Input: an image file of any kind, identified by its magic. A record that can be read must stay equal when it is
// written and read again.
#include <cstring>
#include <vector>

#include "criu/image/reader.hpp"
#include "test/fuzz/input.hpp"

namespace {

const criu::ImageInfo& kindOf(std::span<const std::uint8_t> content) {
    std::uint32_t words[2] = {};
    std::memcpy(words, content.data(), std::min(content.size(), sizeof(words)));
    for (const criu::ImageInfo& info : criu::imageCatalogue()) {
        const std::uint32_t magic = info.framing == criu::Framing::TypeMagic ? words[0] : words[1];
        if (info.record != nullptr && info.magic == magic)
            return info;
    }
    return criu::imageInfo(criu::ImageKind::Core);
}

void roundTrip(const ProtobufCMessage& message) {
    std::vector<std::byte> encoding(criu::encodedSize(message));
    ::protobuf_c_message_pack(&message, reinterpret_cast<std::uint8_t*>(encoding.data()));
    const auto again = criu::decodeMessage(*message.descriptor, encoding);
    criu::fuzz::require(criu::encodedSize(*again) == encoding.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::span content(data, size);
    const criu::ImageInfo& info = kindOf(content);
    criu::AnyRecord record;
    try {
        criu::ImageReader reader(criu::fuzz::fileOf(content), info.kind, "input");
        std::uint64_t offset = reader.offset();
        while ((record = reader.nextOf(*info.record)) != nullptr) {
            criu::fuzz::require(reader.offset() >= offset + 4 && reader.offset() <= size);
            offset = reader.offset();
            roundTrip(*record);
        }
        criu::fuzz::require(reader.offset() == size);
    } catch (const criu::Error&) {
        return 0;
    }
    return 0;
}
