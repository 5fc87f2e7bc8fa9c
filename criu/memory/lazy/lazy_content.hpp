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

/// Has pages that images lack: those of a dump that was made with --lazy-pages, and that still has them.
class PageSupplier {
public:
    virtual ~PageSupplier() = default;
    /// Gets pages of a process. Several threads may ask at once. Throws Error.
    virtual void fetch(const MemoryObject& object, std::uint64_t address, std::span<std::byte> into) = 0;
};

/// The content of one process' late pages, by the addresses that they had in the image. Several threads may read.
class LazyContent {
public:
    /// `source` and `supplier` (null: the images have all of it) outlive this object.
    LazyContent(const PageSource& source, const MemoryObject& object, PageSupplier* supplier)
        : source_(source), object_(object), supplier_(supplier), contents_(source.layers().size()) {}

    /// Opens all that is in images, and checks that there is enough of it: better before anybody needs it. Throws
    /// Error.
    void open() const;

    /// Throws Error, which names the file and the place in it.
    void read(std::uint64_t address, std::span<std::byte> into) const;

private:
    [[nodiscard]] const PageContent& content(std::size_t layer) const;

    const PageSource& source_;
    const MemoryObject object_;
    PageSupplier* supplier_;
    mutable std::mutex opening_;
    mutable std::vector<std::unique_ptr<PageContent>> contents_;  ///< by layer; null while nobody wanted it
};

}  // namespace criu::memory
