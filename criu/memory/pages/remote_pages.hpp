// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "criu/memory/lazy/lazy_content.hpp"
#include "criu/memory/pages/page_connection.hpp"

namespace criu::memory {

/// Asks a dump, or a page server that has images, for pages, in CRIU 4.2's protocol. Several requests may be under way:
/// they are answered in the order in which they were sent.
class RemotePages final : public PageSupplier {
public:
    explicit RemotePages(PageConnection server) noexcept : server_(std::move(server)) {}

    void fetch(const MemoryObject& object, std::uint64_t address, std::span<std::byte> into) override;

    /// No more pages are needed: the other side is told so. Throws Error.
    void finish();

private:
    std::uint64_t fetchSome(const MemoryObject& object, std::uint64_t address, std::span<std::byte> into);

    PageConnection server_;
    std::mutex sending_;
    std::mutex receiving_;
    std::condition_variable turn_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
    bool broken_ = false;
};

}  // namespace criu::memory
