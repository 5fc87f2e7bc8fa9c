// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/pages/page_source.hpp"

namespace criu::memory {
class PageSink;
class PageSinks;
}  // namespace criu::memory

/// Stores of device contents in a checkpoint. Contents are either in pages, like process memory, which may be striped
/// and compressed, or in a file in the format of the driver. CRIU 4.2 can read only such files.
namespace criu::device {

class ContentDriver;

/// Store of contents by position. It is open either for writing or for reading, and throws Error for the other
/// operation. Several threads may use it at once.
class ContentStore {
public:
    virtual ~ContentStore() = default;
    /// Writes bytes at a position. write() and read() throw Error, for instance after abandon().
    virtual void write(std::uint64_t position, std::span<const std::byte> bytes) = 0;
    virtual void read(std::uint64_t position, std::span<std::byte> into) const = 0;
    /// Returns true if writes must have ascending positions; see memory::PageSink.
    [[nodiscard]] virtual bool isOrdered() const noexcept { return false; }
    virtual void abandon() noexcept {}
};

/// Store in a file, from the offset `start` on.
class FileContents final : public ContentStore {
public:
    FileContents(UniqueFd file, std::uint64_t start) noexcept : file_(std::move(file)), start_(start) {}
    /// Closes the file, and throws Error if its file system reports a late failure. `name` names the file in messages.
    void finish(std::string_view name);
    void write(std::uint64_t position, std::span<const std::byte> bytes) override;
    void read(std::uint64_t position, std::span<std::byte> into) const override;

private:
    UniqueFd file_;
    std::uint64_t start_;
};

/// Store that writes pages of one memory object. Addresses begin at 0. Each page must be written once and completely.
class SavedPages final : public ContentStore {
public:
    /// `size`: size in bytes of all contents, a multiple of kImagePageSize. `pages` must outlive this object. Throws
    /// Error.
    SavedPages(memory::PageSinks& pages, std::uint32_t object, std::uint64_t size);
    ~SavedPages() override;
    void write(std::uint64_t position, std::span<const std::byte> bytes) override;
    void read(std::uint64_t position, std::span<std::byte> into) const override;
    [[nodiscard]] bool isOrdered() const noexcept override;
    void abandon() noexcept override;
    /// Completes the object; without this call, its content is incomplete. Throws Error.
    void finish();

private:
    std::unique_ptr<memory::PageSink> sink_;
};

/// Store that reads pages of one memory object.
class LoadedPages final : public ContentStore {
public:
    /// `source` must outlive this object. `frees`: if true, frees the storage of pages after reading them
    /// (--auto-dedup). Throws Error.
    LoadedPages(const memory::PageSource& source, bool frees);
    ~LoadedPages() override;
    void write(std::uint64_t position, std::span<const std::byte> bytes) override;
    void read(std::uint64_t position, std::span<std::byte> into) const override;

private:
    const memory::PageSource& source_;
    bool frees_;
    std::vector<std::unique_ptr<memory::PageContent>> contents_;  ///< contents of the object, by layer
};

/// Position of a buffer's content in the images.
struct ContentPlace {
    std::string file;          ///< name of a file in the format of the driver; empty if the content is in pages
    std::uint32_t object = 0;  ///< number of the memory object (MemoryObject::Kind::Device), if the content is in pages
    std::uint64_t position = 0;  ///< position in the memory object, or after the header of the file
};

/// Page sources of device contents; the key is the number of the memory object. criu opens them before it restores any
/// process, so that a missing file causes an early error.
using ContentSources = std::map<std::uint32_t, memory::PageSource>;

/// Stores from which criu reads contents. Each store is opened at its first use. Only one thread may use this object,
/// but several threads may use one store.
class LoadedStores {
public:
    /// All arguments must outlive this object.
    LoadedStores(ContentDriver& driver, const ImageDir& images, const ContentSources& sources, bool frees)
        : driver_(driver), images_(images), sources_(sources), frees_(frees) {}
    LoadedStores(const LoadedStores&) = delete;
    LoadedStores& operator=(const LoadedStores&) = delete;

    /// Returns the store for `size` bytes at `place`. Throws Error if the images don't contain it.
    [[nodiscard]] ContentStore& at(const ContentPlace& place, std::uint64_t size);
    void close() noexcept;

private:
    ContentDriver& driver_;
    const ImageDir& images_;
    const ContentSources& sources_;
    const bool frees_;
    std::map<std::string, std::unique_ptr<FileContents>> files_;
    std::map<std::uint32_t, std::unique_ptr<LoadedPages>> pages_;
};

}  // namespace criu::device
