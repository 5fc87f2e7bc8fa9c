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

/// Places of device contents in a checkpoint. Contents are in pages, like process memory, with several files and
/// compression. Or they are in a file of the driver's form, which CRIU 4.2 reads.
namespace criu::device {

class ContentDriver;

/// Contents by position, open either to save or to load; the other operation throws Error. Several threads may use it
/// at once.
class ContentStore {
public:
    virtual ~ContentStore() = default;
    /// Both throw Error, also after abandon().
    virtual void write(std::uint64_t position, std::span<const std::byte> bytes) = 0;
    virtual void read(std::uint64_t position, std::span<std::byte> into) const = 0;
    /// See memory::PageSink.
    [[nodiscard]] virtual bool isOrdered() const noexcept { return false; }
    virtual void abandon() noexcept {}
};

/// A file, from an offset on.
class FileContents final : public ContentStore {
public:
    FileContents(UniqueFd file, std::uint64_t start) noexcept : file_(std::move(file)), start_(start) {}
    /// Closes the file and throws Error for late failures of its file system. `name` is for messages.
    void finish(std::string_view name);
    void write(std::uint64_t position, std::span<const std::byte> bytes) override;
    void read(std::uint64_t position, std::span<std::byte> into) const override;

private:
    UniqueFd file_;
    std::uint64_t start_;
};

/// Pages of one memory object, to save. Addresses count from 0. Takes whole pages only, each once.
class SavedPages final : public ContentStore {
public:
    /// `size`: bytes of all content, a multiple of kImagePageSize. Must not outlive `pages`. Throws Error.
    SavedPages(memory::PageSinks& pages, std::uint32_t object, std::uint64_t size);
    ~SavedPages() override;
    void write(std::uint64_t position, std::span<const std::byte> bytes) override;
    void read(std::uint64_t position, std::span<std::byte> into) const override;
    [[nodiscard]] bool isOrdered() const noexcept override;
    void abandon() noexcept override;
    /// Completes the object; without this call its content is incomplete. Throws Error.
    void finish();

private:
    std::unique_ptr<memory::PageSink> sink_;
};

/// Pages of one memory object, to load.
class LoadedPages final : public ContentStore {
public:
    /// Must not outlive `source`. `frees`: frees storage of pages after reading (--auto-dedup). Throws Error.
    LoadedPages(const memory::PageSource& source, bool frees);
    ~LoadedPages() override;
    void write(std::uint64_t position, std::span<const std::byte> bytes) override;
    void read(std::uint64_t position, std::span<std::byte> into) const override;

private:
    const memory::PageSource& source_;
    bool frees_;
    std::vector<std::unique_ptr<memory::PageContent>> contents_;  ///< by layer
};

/// Place of a buffer's content.
struct ContentPlace {
    std::string file;            ///< file of the driver's form; empty: in pages
    std::uint32_t object = 0;    ///< number of the memory object (MemoryObject::Kind::Device)
    std::uint64_t position = 0;  ///< in the object, or after the file's header
};

/// Sources of the contents in the images, by number of the memory object. Opened before any process is restored, so
/// that missing files fail early and libraries are loaded.
using ContentSources = std::map<std::uint32_t, memory::PageSource>;

/// Stores to load contents from, each opened at its first use. Only one thread may use it; the stores take any number.
class LoadedStores {
public:
    /// All arguments outlive this object.
    LoadedStores(ContentDriver& driver, const ImageDir& images, const ContentSources& sources, bool frees)
        : driver_(driver), images_(images), sources_(sources), frees_(frees) {}
    LoadedStores(const LoadedStores&) = delete;
    LoadedStores& operator=(const LoadedStores&) = delete;

    /// Returns the store with `size` bytes at a place. Throws Error if there is none.
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
