// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/unpacked_pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/kernel/confined_process.hpp"
#include "criu/memory/pages/codec.hpp"
#include "criu/memory/pages/compressed_pages.hpp"
#include "criu/memory/pages/parent_pages.hpp"
#include "criu/memory/pages/stored_objects.hpp"
#include "criu/memory/pages/zero.hpp"

namespace criu::memory {
namespace {

/// Maximum bytes that copyBlock() reads at once.
constexpr std::uint64_t kCopied = std::uint64_t{1} << 20;

/// Copies an uncompressed block without its zeroes. The block may be as large as a mapping.
void copyBlock(const StoredBlock& block, int from, int to, std::vector<std::byte>& content) {
    for (std::uint64_t done = 0; done < block.bytes; done += content.size()) {
        content.resize(std::min(block.bytes - done, kCopied));
        readAt(from, content, block.offset + done);
        if (!isZero(content))
            writeAt(to, content, block.position + done);
    }
}

/// Copies the content of all blocks to their positions in `to`. Runs in a confined process.
void decompressBlocks(const Pagemap& pagemap, const Codec& codec, int from, int to) {
    std::vector<std::byte> stored;
    std::vector<std::byte> content;
    for (const StoredBlock& block : pagemap.blocks()) {
        if (block.stored == 0)
            continue;
        const ErrorContext context(
            [&] { return fmt::format("block of {} bytes at offset {:#x}", block.stored, block.offset); });
        if (block.stored == block.bytes) {
            copyBlock(block, from, to, content);
            continue;
        }
        stored.resize(block.stored);
        content.resize(block.bytes);
        readAt(from, stored, block.offset);
        codec.decompress(stored, content);
        writeAt(to, content, block.position);
    }
}

}  // namespace

void unpackPages(const ImageDir& images, const ImageDir& into, StopRequest& stop) {
    std::set<std::uint32_t> unpacked;
    for (const MemoryObject& object : objectsIn(images)) {
        const auto pagemap = Pagemap::load(images, pagemapOf(object), object.id);
        if (!pagemap || pagemap->codec() == 0)
            continue;
        const std::vector<UniqueFd> stored = pagemap->openPages(images, O_RDONLY | O_CLOEXEC);
        if (stored.empty())
            continue;
        const std::uint32_t number = pagemap->stripes().files.front();
        const std::string name = imageName(ImageKind::Pages, number);
        if (!unpacked.insert(number).second)
            fail("{}/{} belongs to several pagemaps", images.name(), name);
        const std::shared_ptr<const Codec> codec = codecOf(*pagemap);
        const UniqueFd content = into.createRaw(ImageKind::Pages, number);
        const int from = stored.front().get();
        sys(::fcntl(from, F_SETFL, 0), "clear O_DIRECT of {}", name);  // blocks aren't aligned
        kernel::runConfined(fmt::format("decompress {}/{}", images.name(), name), std::array{from, content.get()}, stop,
                            [&] { decompressBlocks(*pagemap, *codec, from, content.get()); });
        // Sets the size from here, because the last blocks may be zeroes, which the process omits.
        sys(::ftruncate(content.get(), static_cast<off_t>(pagemap->contentSize())), "set the size of {}", name);
    }
}

}  // namespace criu::memory
