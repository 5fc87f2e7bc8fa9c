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

namespace criu::model {
enum class PageCodec : std::uint8_t;
}

namespace criu::memory {

class Codec;

/// Extension name in inventories for content in several files (PageStripes).
inline constexpr const char* kStripedPages = "striped-pages";
/// Extension name for file contents outside of their archive (MemoryObject::Kind::Files).
inline constexpr const char* kFilesPages = "tmpfs-files";
/// Extension name for device buffer contents in pages (MemoryObject::Kind::Device).
inline constexpr const char* kDevicePages = "device-pages";

/// Extension name for compressed content.
inline constexpr const char* kCompressedPages = "compressed-pages";

/// Compression of content.
struct Compression {
    /// Loads the codec, unless it is None. `level`: as in Codec::load().
    static Compression with(model::PageCodec kind, int level, std::uint64_t block);

    std::shared_ptr<const Codec> codec;  ///< null: no compression
    model::PageCodec kind{};
    std::uint64_t block = std::uint64_t{256} << 10;  ///< bytes that are compressed together, a multiple of the page
                                                     ///< size
};

/// Number of pages files for an object with much content.
struct Striping {
    unsigned files = 1;       ///< 1: the format of CRIU 4.2
    std::uint64_t least = 0;  ///< bytes of content that need more than one file
    bool extended = false;    ///< other formats that CRIU 4.2 can't read are allowed too

    /// Returns the best setting for this machine: a file per core, up to the number that tmpfs and ext4 gain from,
    /// for content that outweighs opening files.
    static Striping usual();
    /// Returns a setting with this number of files for content of at least a stripe per file.
    static Striping asWished(unsigned files);
};

/// Sinks that write pages to an images directory (page_files.hpp). Pages files have numbers from `first` on. One
/// object serves one dump.
class FilePageSinks final : public PageSinks {
public:
    /// `images` must outlive this object.
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
    std::map<MemoryObject, std::optional<ParentPages>> ahead_;  ///< results of readParentAhead() until parentOf()
    const Striping striping_;
    const Compression compression_;
    std::atomic<std::uint32_t> next_;
    std::atomic<bool> striped_{false};
    std::atomic<bool> compressed_{false};
    std::atomic<bool> files_{false};   ///< files of a tmpfs were stored
    std::atomic<bool> device_{false};  ///< device buffers were stored
};

}  // namespace criu::memory
