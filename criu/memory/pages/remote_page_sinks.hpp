// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "criu/memory/pages/page_connection.hpp"
#include "criu/memory/pages/page_server_protocol.hpp"
#include "criu/memory/pages/page_sink.hpp"

namespace criu::memory {

class ContentSenders;

/// Sinks that send pages to a page server, which may be CRIU 4.2 or this criu. The connection transfers one object
/// after another: open() waits until the sink of the previous object is destroyed. A page server of this criu may also
/// accept content over separate connections, in any order.
class RemotePageSinks final : public PageSinks {
public:
    /// `reused`: true if the connection stays open after finish(), for other dumps.
    RemotePageSinks(PageConnection server, bool reused);
    /// `streams`: content connections that the server has accepted.
    RemotePageSinks(PageConnection server, std::vector<PageConnection> streams);
    ~RemotePageSinks() override;

    [[nodiscard]] std::unique_ptr<PageSink> open(const MemoryObject& object, std::uint64_t expected) override;
    [[nodiscard]] std::optional<ParentPages> parentOf(const MemoryObject& object) override;
    [[nodiscard]] std::vector<std::string> extensions() const override;
    void finish() override;

private:
    class Sink;
    class StreamedSink;

    void send(const PageMessage& message, std::span<const std::byte> content = {});
    void send(std::span<const PageMessage> messages);
    template <typename Number>
    Number ask(const PageMessage& question);
    void close() noexcept;

    PageConnection server_;
    bool reused_;
    std::unique_ptr<ContentSenders> streams_;  ///< content connections; null if only one connection is used
    std::atomic<bool> striped_{false};         ///< true if the content of an object is in several files
    std::mutex talking_;  ///< locked while a thread sends a message with its pages, or waits for a reply
    std::mutex turns_;
    std::condition_variable free_;
    bool taken_ = false;  ///< true if a sink exists
};

}  // namespace criu::memory
