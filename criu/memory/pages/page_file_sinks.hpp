// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/parent_pages.hpp"
#include "criu/memory/shmem/memory_object.hpp"

namespace criu {
class ImageDir;
}

namespace criu::memory {

class Codec;
enum class CodecKind : std::uint8_t;

/// The name in an inventory's extensions for content in several files (PageStripes).
inline constexpr const char* kStripedPages = "striped-pages";
/// The name for content of files apart from their archive (MemoryObject::Kind::Files).
inline constexpr const char* kFilesPages = "tmpfs-files";
/// The name for contents of device buffers in pages (MemoryObject::Kind::Device).
inline constexpr const char* kDevicePages = "device-pages";

/// The name for compressed content.
inline constexpr const char* kCompressedPages = "compressed-pages";

/// Whether, and how, content is compressed.
struct Compression {
    /// See Codec::load().
    static Compression lz4(int acceleration, std::uint64_t block);
    static Compression zstd(int level, std::uint64_t block);

    std::shared_ptr<const Codec> codec;  ///< null: it isn't
    CodecKind kind{};
    std::uint64_t block = std::uint64_t{256} << 10;  ///< bytes that are compressed together, a multiple of a page
};

/// How many pages files an object with much content gets.
struct Striping {
    unsigned files = 1;       ///< one: the form that CRIU 4.2 has
    std::uint64_t least = 0;  ///< bytes of content below which one file does
    bool extended = false;    ///< other forms that CRIU 4.2 hasn't got may be chosen as well

    /// As it pays off on this machine: a file for each core, up to what tmpfs and ext4 were seen to gain from, for
    /// content that takes longer than opening files.
    static Striping usual();
    /// With that many files for all content that is enough for each of them to have a piece.
    static Striping asWished(unsigned files);
};

/// Writes pages as files of an image directory, see page_files.hpp. They are numbered from `first` on: one object
/// stands for one dump.
class FilePageSinks final : public PageSinks {
public:
    /// `images` outlives this object.
    explicit FilePageSinks(const ImageDir& images, Striping striping = {}, std::uint32_t first = 1,
                           Compression compression = {}) noexcept
        : images_(images), striping_(striping), compression_(std::move(compression)), next_(first) {}

    [[nodiscard]] std::unique_ptr<PageSink> open(const MemoryObject& object, std::uint64_t expected) override;
    [[nodiscard]] std::vector<std::string> extensions() const override;
    [[nodiscard]] std::optional<ParentPages> parentOf(const MemoryObject& object) override;
    void readParentAhead(const MemoryObject& object) override;
    [[nodiscard]] bool takes(MemoryObject::Kind kind) const noexcept override {
        return striping_.extended || PageSinks::takes(kind);
    }

private:
    const ImageDir& images_;
    std::mutex aheadLock_;
    std::map<MemoryObject, std::optional<ParentPages>> ahead_;  ///< what was read and not asked for yet
    const Striping striping_;
    const Compression compression_;
    std::atomic<std::uint32_t> next_;
    std::atomic<bool> striped_{false};
    std::atomic<bool> compressed_{false};
    std::atomic<bool> files_{false};   ///< it was given some of MemoryObject::Kind::Files
    std::atomic<bool> device_{false};  ///< or of MemoryObject::Kind::Device
};

}  // namespace criu::memory
