// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "criu/memory/lazy/lazy_content.hpp"
#include "criu/memory/pages/page_connection.hpp"

namespace criu::memory {

/// Supplier that requests pages from a dump, or from a page server with images, by CRIU 4.2's protocol. Several
/// requests may be pending; the peer replies in the order of the requests.
class RemotePages final : public PageSupplier {
public:
    explicit RemotePages(PageConnection server) noexcept : server_(std::move(server)) {}

    void fetch(const MemoryObject& object, std::uint64_t address, std::span<std::byte> into) override;

    /// Informs the peer that this criu needs no more pages. Throws Error.
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
