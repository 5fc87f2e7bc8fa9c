// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "criu/memory/shmem/memory_object.hpp"

namespace criu::memory {
class PageSources;
}

namespace criu::engine {

/// Bytes that the kernel writes when it likes.
struct KernelBytes {
    std::uint64_t address;
    std::uint64_t size;
};

/// Consecutive bytes of two memory objects.
struct ComparedRange {
    std::uint64_t image = 0;  ///< address of the first byte in the image
    std::uint64_t tree = 0;   ///< address of the first byte in the tree
    std::uint64_t bytes = 0;  ///< a multiple of the page size
    /// True if a page that the pagemap lacks has the content of a file, false if it is zero.
    bool ofFile = false;
    /// Bytes that the kernel changes by itself, by their addresses in the image. They count as equal.
    std::span<const KernelBytes> kernelBytes = {};
};

/// Differing bytes of consecutive pages.
struct DifferingBytes {
    enum class Cause : std::uint8_t {
        Content,      ///< both have content
        OnlyInImage,  ///< the tree has the page of the mapped file
        OnlyInTree,   ///< the image has the page of the mapped file
    };
    Cause cause = Cause::Content;
    std::uint64_t pages = 0;  ///< address of the first page in the image
    std::uint64_t size = 0;   ///< bytes of all pages
    std::uint64_t first = 0;  ///< address in the image of the first differing byte
    std::uint64_t count = 0;  ///< number of differing bytes; 0 if the content of the file isn't known
    std::uint8_t image = 0;   ///< value of the first differing byte in the image
    std::uint8_t tree = 0;    ///< value of that byte in the tree
};

/// Returns the ContentHash of `bytes` bytes of an object from `start` on. Throws Error.
[[nodiscard]] std::size_t hashPages(const memory::PageSources& sources, const memory::MemoryObject& object,
                                    std::uint64_t start, std::uint64_t bytes);

/// Comparison of memory of images with memory of a second dump.
class MemoryComparison {
public:
    /// `checkStop`: called between pieces; throws to end the work. All arguments must outlive this object.
    MemoryComparison(const memory::PageSources& image, const memory::PageSources& tree,
                     const std::function<void()>& checkStop) noexcept
        : image_(image), tree_(tree), checkStop_(checkStop) {}

    /// Calls `visit` for each run of differing pages of a range. Throws Error, also if the images lack the content of a
    /// page (lazy pages).
    void compare(const memory::MemoryObject& image, const memory::MemoryObject& tree, const ComparedRange& range,
                 const std::function<void(const DifferingBytes&)>& visit) const;

    /// Returns the end of the last page of an object in either source.
    [[nodiscard]] std::uint64_t endOf(const memory::MemoryObject& image, const memory::MemoryObject& tree) const;

private:
    const memory::PageSources& image_;
    const memory::PageSources& tree_;
    const std::function<void()>& checkStop_;
};

}  // namespace criu::engine
