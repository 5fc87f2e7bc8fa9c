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

/// Supplier of pages that the images lack: the dumped process, which a dump with --lazy-pages keeps frozen, still has
/// these pages.
class PageSupplier {
public:
    virtual ~PageSupplier() = default;
    /// Fetches pages of a process. Thread-safe. Throws Error.
    virtual void fetch(const MemoryObject& object, std::uint64_t address, std::span<std::byte> into) = 0;
};

/// Reader of the lazy pages of one process, by their addresses in the image. Thread-safe.
class LazyContent {
public:
    /// `source` and `supplier` must outlive this object. A null `supplier` means that the images contain all pages.
    LazyContent(const PageSource& source, const MemoryObject& object, PageSupplier* supplier)
        : source_(source), object_(object), supplier_(supplier), contents_(source.layers().size()) {}

    /// Opens the pages files of all layers and checks their sizes. Call it early, so that errors appear before a
    /// process needs a page. Throws Error.
    void open() const;

    /// Reads pages of the process. If it throws Error, the message contains the file and the position.
    void read(std::uint64_t address, std::span<std::byte> into) const;

private:
    [[nodiscard]] const PageContent& content(std::size_t layer) const;

    const PageSource& source_;
    const MemoryObject object_;
    PageSupplier* supplier_;
    mutable std::mutex opening_;
    mutable std::vector<std::unique_ptr<PageContent>> contents_;  ///< one element for each layer; null until first used
};

}  // namespace criu::memory
