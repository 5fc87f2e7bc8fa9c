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

/// Content connections (PageCommand::Streams) between a dump and a page server of this criu: both ends.
namespace criu::memory {

/// Sender's end.
class ContentSenders {
public:
    explicit ContentSenders(std::vector<PageConnection> connections);

    /// Sends content over a free connection; waits if none is free. Thread-safe. Throws Error.
    void send(std::uint64_t object, std::uint64_t position, std::span<const std::byte> content);

    /// Ends all connections after the last content. Throws Error.
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

/// Server's end: one thread per connection, which writes content to the sink of the current object.
class ContentReceivers {
public:
    /// `control` must outlive this object. It is interrupted if receiving content fails.
    ContentReceivers(std::vector<PageConnection> connections, PageConnection& control);
    ~ContentReceivers();
    ContentReceivers(const ContentReceivers&) = delete;
    ContentReceivers& operator=(const ContentReceivers&) = delete;

    [[nodiscard]] std::size_t count() const noexcept { return count_; }

    /// Sets the current object, for content until complete() returns.
    void begin(std::uint64_t object, PageSink& sink);
    /// Announces content of a run that was added to the sink.
    void expect(const PageRun& run, std::uint64_t position);
    /// Waits until all announced content is written. Throws the error of a receiving thread.
    void complete();
    /// Waits until the senders have closed their connections after the last object. Throws Error.
    void finish();

    /// Throws the error of a receiving thread, if one failed.
    void rethrow() const;

private:
    struct Placed {
        std::uint64_t position = 0;
        kernel::RemoteRange range;
    };

    void run(PageConnection& connection);
    void take(PageConnection& connection, const PageMessage& header, std::span<std::byte> room);
    /// Waits until the content is announced. Returns its sink and sets its ranges.
    PageSink& await(const PageMessage& header, std::uint64_t bytes, std::vector<kernel::RemoteRange>& ranges);
    void giveUp(std::exception_ptr why) noexcept;
    /// Content that has arrived before its announcement.
    struct Early {
        std::uint64_t object = 0;
        std::uint64_t end = 0;
    };
    [[nodiscard]] bool isExpected(const Early& content) const noexcept;
    /// Returns true if the current object's missing content can't arrive: all its runs are known, and each connection
    /// has ended or waits with another object's content.
    [[nodiscard]] bool isStuck() const noexcept;

    PageConnection& control_;
    const std::size_t count_;
    std::list<PageConnection> connections_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    PageSink* sink_ = nullptr;    ///< sink of the current object
    std::uint64_t object_ = 0;    ///< number of the current object
    std::deque<Placed> placed_;   ///< runs of that object with content, ascending by position
    std::uint64_t expected_ = 0;  ///< announced bytes of content
    std::uint64_t stored_ = 0;    ///< stored bytes of content
    RangeSet taken_;              ///< positions that have arrived
    std::list<Early> early_;      ///< unannounced content that connections wait with
    std::size_t ended_ = 0;       ///< ended connections
    bool isLast_ = false;         ///< no other object follows
    std::exception_ptr failure_;
    ThreadPool pool_;  // last member: its threads use the others
};

}  // namespace criu::memory
