// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <vector>

#include "criu/base/thread_pool.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/memory/pages/page_connection.hpp"
#include "criu/memory/pages/page_server_protocol.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/memory/pages/ranges.hpp"

/// Connections between a dump and a page server of this criu that transfer only content (PageCommand::Streams).
namespace criu::memory {

/// Dump's end of the content connections.
class ContentSenders {
public:
    explicit ContentSenders(std::vector<PageConnection> connections);

    /// Sends content over a connection that no other thread uses. If all connections are in use, waits for one.
    /// Thread-safe. Throws Error.
    void send(std::uint64_t object, std::uint64_t position, std::span<const std::byte> content);

    /// Closes all connections. Must follow the last send(). Throws Error.
    void finish();

private:
    struct Sender {
        explicit Sender(PageConnection with) : connection(std::move(with)) {}
        PageConnection connection;
        std::mutex busy;
    };

    std::list<Sender> senders_;
    std::atomic<std::size_t> turn_{0};
};

/// Page server's end of the content connections. One thread per connection writes content to the sink of the current
/// object.
class ContentReceivers {
public:
    /// `control`: first connection; must outlive this object. If a content connection fails, interrupts `control`.
    ContentReceivers(std::vector<PageConnection> connections, PageConnection& control);
    ~ContentReceivers();
    ContentReceivers(const ContentReceivers&) = delete;
    ContentReceivers& operator=(const ContentReceivers&) = delete;

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Sets the sink for the content of `object`. The sink must exist until complete() returns.
    void begin(std::uint64_t object, PageSink& sink);
    /// Announces the content of a run that the caller has added to the sink.
    void expect(const PageRun& run, std::uint64_t position);
    /// Waits until all announced content is written. Throws Error if a receiving thread failed.
    void complete();
    /// Waits until the sender has closed all connections. Call it when no object follows. Throws Error.
    void finish();

    /// Throws the stored Error if a receiving thread has failed; else does nothing.
    void rethrow() const;

private:
    struct Placed {
        std::uint64_t position = 0;
        kernel::RemoteRange range;
    };

    void run(PageConnection& connection);
    void take(PageConnection& connection, const PageMessage& header, std::span<std::byte> room);
    /// Waits until expect() announces the content of `header`. Returns the sink, and sets `ranges` to the addresses of
    /// the content.
    PageSink& await(const PageMessage& header, std::uint64_t bytes, std::vector<kernel::RemoteRange>& ranges);
    void giveUp(std::exception_ptr why) noexcept;
    /// Content that a connection has received before expect() announced it.
    struct Early {
        std::uint64_t object = 0;
        std::uint64_t end = 0;
    };
    [[nodiscard]] bool isExpected(const Early& content) const noexcept;
    /// Returns true if content of the current object is missing and can't arrive any more: each connection has ended,
    /// or waits with content of another object.
    [[nodiscard]] bool isStuck() const noexcept;

    PageConnection& control_;
    const std::size_t count_;
    std::list<PageConnection> connections_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    PageSink* sink_ = nullptr;    ///< sink of the current object
    std::uint64_t object_ = 0;    ///< number of the current object
    std::deque<Placed> placed_;   ///< runs of the current object with content, in ascending order of positions
    std::uint64_t expected_ = 0;  ///< bytes of content that expect() announced
    std::uint64_t stored_ = 0;    ///< bytes of content that are written
    RangeSet taken_;              ///< positions of content that has arrived
    std::list<Early> early_;      ///< unannounced content; one connection waits with each element
    std::size_t ended_ = 0;       ///< number of connections that have ended
    bool isLast_ = false;         ///< true after finish(): no other object follows
    std::exception_ptr failure_;
    ThreadPool pool_;  // last member: destroyed first, because its threads use the other members
};

}  // namespace criu::memory
