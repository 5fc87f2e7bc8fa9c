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

/// Where contents of device buffers are in a checkpoint: in pages, as memory of processes is, and so in several files,
/// compressed and so on; or in a file of the driver's own form, which CRIU 4.2 reads.
namespace criu::device {

class ContentDriver;

/// Contents by position, open to be saved or to be loaded; the other one throws Error. For several threads at once.
class ContentStore {
public:
    virtual ~ContentStore() = default;
    /// Both throw Error. What is given up by abandon() ends so, too.
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
    /// All was written; without it what a file system says late is missed. `name`: for messages. Throws Error.
    void finish(std::string_view name);
    void write(std::uint64_t position, std::span<const std::byte> bytes) override;
    void read(std::uint64_t position, std::span<std::byte> into) const override;

private:
    UniqueFd file_;
    std::uint64_t start_;
};

/// Pages that are saved: the content of one memory object, whose addresses count from 0. Whole pages only, each once.
class SavedPages final : public ContentStore {
public:
    /// `size`: of all content, a multiple of kImagePageSize. Must not outlive `pages`. Throws Error.
    SavedPages(memory::PageSinks& pages, std::uint32_t object, std::uint64_t size);
    ~SavedPages() override;
    void write(std::uint64_t position, std::span<const std::byte> bytes) override;
    void read(std::uint64_t position, std::span<std::byte> into) const override;
    [[nodiscard]] bool isOrdered() const noexcept override;
    void abandon() noexcept override;
    /// All was written; without it nothing is complete. Throws Error.
    void finish();

private:
    std::unique_ptr<memory::PageSink> sink_;
};

/// Pages that are loaded.
class LoadedPages final : public ContentStore {
public:
    /// Must not outlive `source`. `frees`: their storage is freed when they were read (--auto-dedup). Throws Error.
    LoadedPages(const memory::PageSource& source, bool frees);
    ~LoadedPages() override;
    void write(std::uint64_t position, std::span<const std::byte> bytes) override;
    void read(std::uint64_t position, std::span<std::byte> into) const override;

private:
    const memory::PageSource& source_;
    bool frees_;
    std::vector<std::unique_ptr<memory::PageContent>> contents_;  ///< by layer
};

/// Where the content of a buffer is.
struct ContentPlace {
    std::string file;            ///< of the driver's own form; empty: in pages
    std::uint32_t object = 0;    ///< number of the memory object (MemoryObject::Kind::Device)
    std::uint64_t position = 0;  ///< in the object, or behind what the file begins with
};

/// Sources of the objects that the images have contents in, by number. Known before any process is restored, so that
/// what is missing fails before, and libraries are loaded.
using ContentSources = std::map<std::uint32_t, memory::PageSource>;

/// What contents are loaded from, each opened when it is first needed. For one thread; the stores are for any.
class LoadedStores {
public:
    /// All outlive this object.
    LoadedStores(ContentDriver& driver, const ImageDir& images, const ContentSources& sources, bool frees)
        : driver_(driver), images_(images), sources_(sources), frees_(frees) {}
    LoadedStores(const LoadedStores&) = delete;
    LoadedStores& operator=(const LoadedStores&) = delete;

    /// The store that has `size` bytes at a place. Throws Error if there is none.
    [[nodiscard]] ContentStore& at(const ContentPlace& place, std::uint64_t size);
    /// Closes all.
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
