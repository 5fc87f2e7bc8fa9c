// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "criu/memory/pages/page_source.hpp"

namespace criu::memory {

/// Supplier of pages that images lack: a dump with --lazy-pages that still has them.
class PageSupplier {
public:
    virtual ~PageSupplier() = default;
    /// Fetches pages of a process. Thread-safe. Throws Error.
    virtual void fetch(const MemoryObject& object, std::uint64_t address, std::span<std::byte> into) = 0;
};

/// Content of the lazy pages of one process, by their addresses in the image. Thread-safe.
class LazyContent {
public:
    /// `source` and `supplier` must outlive this object. A null `supplier` means that the images have all content.
    LazyContent(const PageSource& source, const MemoryObject& object, PageSupplier* supplier)
        : source_(source), object_(object), supplier_(supplier), contents_(source.layers().size()) {}

    /// Opens all content in images and checks its size, before any page is needed. Throws Error.
    void open() const;

    /// Throws Error with the file and the position.
    void read(std::uint64_t address, std::span<std::byte> into) const;

private:
    [[nodiscard]] const PageContent& content(std::size_t layer) const;

    const PageSource& source_;
    const MemoryObject object_;
    PageSupplier* supplier_;
    mutable std::mutex opening_;
    mutable std::vector<std::unique_ptr<PageContent>> contents_;  ///< by layer; null until needed
};

}  // namespace criu::memory
