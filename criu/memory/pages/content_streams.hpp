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

/// Connections between two of this criu that carry nothing but content (PageCommand::Streams): both ends.
namespace criu::memory {

/// The sender's end.
class ContentSenders {
public:
    explicit ContentSenders(std::vector<PageConnection> connections);

    /// Sends content by a connection that is free, or becomes so. For several threads. Throws Error.
    void send(std::uint64_t object, std::uint64_t position, std::span<const std::byte> content);

    /// All was sent. Throws Error.
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

/// The server's end: a thread for each connection, which puts content into the sink of the object that is under way.
class ContentReceivers {
public:
    /// `control`, which outlives this object, is interrupted when content can't be had.
    ContentReceivers(std::vector<PageConnection> connections, PageConnection& control);
    ~ContentReceivers();
    ContentReceivers(const ContentReceivers&) = delete;
    ContentReceivers& operator=(const ContentReceivers&) = delete;

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// The object that content is taken of from now on, until complete() returns.
    void begin(std::uint64_t object, PageSink& sink);
    /// There will be content of a run that was added to the sink.
    void expect(const PageRun& run, std::uint64_t position);
    /// Returns when all of it is there. Throws what went wrong.
    void complete();
    /// Waits until the senders have ended their connections: no object begins any more. Throws Error.
    void finish();

    /// Throws what went wrong with content, if something did.
    void rethrow() const;

private:
    struct Placed {
        std::uint64_t position = 0;
        kernel::RemoteRange range;
    };

    void run(PageConnection& connection);
    void take(PageConnection& connection, const PageMessage& header, std::span<std::byte> room);
    /// Waits until the content is expected: what it is of, and where it goes.
    PageSink& await(const PageMessage& header, std::uint64_t bytes, std::vector<kernel::RemoteRange>& ranges);
    void giveUp(std::exception_ptr why) noexcept;
    /// Content that a connection has brought before it is expected.
    struct Early {
        std::uint64_t object = 0;
        std::uint64_t end = 0;
    };
    [[nodiscard]] bool isExpected(const Early& content) const noexcept;
    /// Whether no connection can bring what the object under way lacks, though all its runs are known: each has ended,
    /// or waits with content of another one.
    [[nodiscard]] bool isStuck() const noexcept;

    PageConnection& control_;
    const std::size_t count_;
    std::list<PageConnection> connections_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    PageSink* sink_ = nullptr;    ///< of the object under way
    std::uint64_t object_ = 0;    ///< its number
    std::deque<Placed> placed_;   ///< its runs with content, ascending by position
    std::uint64_t expected_ = 0;  ///< bytes of content
    std::uint64_t stored_ = 0;    ///< of these
    RangeSet taken_;              ///< positions that have come
    std::list<Early> early_;      ///< that connections wait with
    std::size_t ended_ = 0;       ///< connections
    bool isLast_ = false;         ///< no object begins any more
    std::exception_ptr failure_;
    ThreadPool pool_;  // last: its threads use the others
};

}  // namespace criu::memory
