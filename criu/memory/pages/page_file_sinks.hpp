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

/// Options for the compression of content.
struct Compression {
    /// Loads the shared library of the codec; for None, the result has no codec. `level`: see Codec::load(). `block`:
    /// number of bytes that are compressed together.
    static Compression with(model::PageCodec kind, int level, std::uint64_t block);

    std::shared_ptr<const Codec> codec;  ///< null if content isn't compressed
    model::PageCodec kind{};
    /// Bytes that are compressed together, a multiple of the page size.
    std::uint64_t block = std::uint64_t{256} << 10;
};

/// Number of pages files for an object with much content.
struct Striping {
    unsigned files = 1;       ///< number of files; CRIU 4.2 can only read 1
    std::uint64_t least = 0;  ///< minimum bytes of content for more than one file
    bool extended = false;    ///< true if other formats that CRIU 4.2 can't read are also allowed

    /// Returns the best setting for this machine: one file per core, but at most 16, because more files aren't faster
    /// on tmpfs and ext4. Small content gets one file: opening more files would take longer than they save.
    static Striping usual();
    /// Returns a setting with `files` files. Only content of at least one stripe per file gets several files.
    static Striping asWished(unsigned files);
};

/// Sinks of one dump that write pages to an images directory (page_files.hpp). The first pages file has the number
/// `first`.
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
    /// Results of readParentAhead() that parentOf() hasn't returned yet.
    std::map<MemoryObject, std::optional<ParentPages>> ahead_;
    const Striping striping_;
    const Compression compression_;
    std::atomic<std::uint32_t> next_;
    std::atomic<bool> striped_{false};
    std::atomic<bool> compressed_{false};
    std::atomic<bool> files_{false};   ///< true if contents of tmpfs files were stored
    std::atomic<bool> device_{false};  ///< true if contents of device buffers were stored
};

}  // namespace criu::memory
