// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/content_streams.hpp"

#include <algorithm>

#include "criu/base/error.hpp"

namespace criu::memory {

ContentSenders::ContentSenders(std::vector<PageConnection> connections) {
    for (PageConnection& connection : connections)
        senders_.emplace_back(std::move(connection));
}

void ContentSenders::send(std::uint64_t object, std::uint64_t position, std::span<const std::byte> content) {
    const PageMessage header{wordOf(PageCommand::Content), 0, content.size() / kImagePageSize, position, object};
    // Starts the search at a different connection for each block, so that most threads find a free connection at once.
    const std::size_t first = turn_.fetch_add(1, std::memory_order_relaxed) % senders_.size();
    auto sender = std::next(senders_.begin(), static_cast<std::ptrdiff_t>(first));
    std::unique_lock lock(sender->busy, std::try_to_lock);
    for (std::size_t others = 1; !lock && others < senders_.size(); ++others) {
        if (++sender == senders_.end())
            sender = senders_.begin();
        lock = std::unique_lock(sender->busy, std::try_to_lock);
    }
    if (!lock)
        lock = std::unique_lock(sender->busy);
    sender->connection.send(std::as_bytes(std::span(&header, 1)), true);
    sender->connection.send(content);
}

void ContentSenders::finish() {
    const PageMessage end{wordOf(PageCommand::Close)};
    for (Sender& sender : senders_) {
        sender.connection.send(std::as_bytes(std::span(&end, 1)));
        sender.connection.endSecurity();
    }
}

ContentReceivers::ContentReceivers(std::vector<PageConnection> connections, PageConnection& control)
    : control_(control), count_(connections.size()), pool_(static_cast<unsigned>(connections.size())) {
    for (PageConnection& connection : connections) {
        PageConnection& own = connections_.emplace_back(std::move(connection));
        pool_.submit([this, &own] {
            try {
                run(own);
            } catch (...) {
                giveUp(std::current_exception());
                control_.interrupt();
            }
        });
    }
}

ContentReceivers::~ContentReceivers() {
    giveUp(std::make_exception_ptr(Error(ECANCELED, "the server has ended")));
    for (PageConnection& connection : connections_)
        connection.interrupt();
}

void ContentReceivers::begin(std::uint64_t object, PageSink& sink) {
    sink.share();
    const std::lock_guard lock(mutex_);
    object_ = object;
    sink_ = &sink;
    placed_.clear();
    taken_ = {};
    expected_ = stored_ = 0;
}

void ContentReceivers::expect(const PageRun& run, std::uint64_t position) {
    const std::lock_guard lock(mutex_);
    placed_.push_back({position, {run.address, run.bytes}});
    expected_ = position + run.bytes;
    changed_.notify_all();
}

void ContentReceivers::complete() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return failure_ || stored_ == expected_ || isStuck(); });
    if (failure_)
        std::rethrow_exception(failure_);
    if (stored_ != expected_)
        fail("content of {} bytes can't come any more: no connection has it next", expected_ - stored_);
    sink_ = nullptr;
}

bool ContentReceivers::isExpected(const Early& content) const noexcept {
    return sink_ != nullptr && object_ == content.object && content.end <= expected_;
}

bool ContentReceivers::isStuck() const noexcept {
    const auto waiting =
        std::count_if(early_.begin(), early_.end(), [this](const Early& content) { return !isExpected(content); });
    return ended_ + static_cast<std::size_t>(waiting) == count_;
}

void ContentReceivers::finish() {
    {
        const std::lock_guard lock(mutex_);
        isLast_ = true;
        changed_.notify_all();
    }
    pool_.wait();
    rethrow();
}

void ContentReceivers::rethrow() const {
    const std::lock_guard lock(mutex_);
    if (failure_)
        std::rethrow_exception(failure_);
}

void ContentReceivers::run(PageConnection& connection) {
    std::vector<std::byte> room(kContentBlock);
    for (;;) {
        PageMessage header;
        if (!connection.receive(std::as_writable_bytes(std::span(&header, 1))))
            fail("the sender has gone before it had sent all content");
        const ErrorContext context(
            [&] { return fmt::format("content at {:#x} of object {:#x}", header.address, header.object); });
        if (header.command() == PageCommand::Close) {
            connection.endSecurity();
            const std::lock_guard lock(mutex_);
            ++ended_;
            return changed_.notify_all();
        }
        if (header.command() != PageCommand::Content)
            fail("a message of another kind: {}", header.word);
        if (header.pages == 0 || header.pages > room.size() / kImagePageSize)
            fail("{} pages at once", header.pages);
        take(connection, header, std::span(room).first(header.pages * kImagePageSize));
    }
}

void ContentReceivers::take(PageConnection& connection, const PageMessage& header, std::span<std::byte> room) {
    if (!connection.receive(room))
        fail("the sender has gone within content");
    std::vector<kernel::RemoteRange> ranges;
    PageSink& sink = await(header, room.size(), ranges);
    sink.write({header.address, ranges, room});
    const std::lock_guard lock(mutex_);
    stored_ += room.size();
    changed_.notify_all();
}

PageSink& ContentReceivers::await(const PageMessage& header, std::uint64_t bytes,
                                  std::vector<kernel::RemoteRange>& ranges) {
    const std::uint64_t begin = header.address;
    const std::uint64_t end = begin + bytes;
    if (begin % kImagePageSize != 0)
        fail("no page begins there");
    if (end < begin)
        fail("it ends nowhere");
    std::unique_lock lock(mutex_);
    const Early content{header.object, end};
    if (!isExpected(content)) {
        early_.push_back(content);
        const auto own = std::prev(early_.end());
        changed_.notify_all();
        changed_.wait(lock, [&] { return failure_ || isLast_ || isExpected(content); });
        early_.erase(own);
    }
    if (failure_)
        failWith(ECANCELED, "others have failed");
    if (!isExpected(content))
        fail("its object never begins");
    if (taken_.overlaps({begin, end}))
        fail("it comes a second time");
    taken_.add({begin, end});
    auto place = std::upper_bound(placed_.begin(), placed_.end(), begin,
                                  [](std::uint64_t position, const Placed& each) { return position < each.position; });
    for (--place; place != placed_.end() && place->position < end; ++place) {
        const std::uint64_t from = std::max(begin, place->position);
        const std::uint64_t to = std::min(end, place->position + place->range.size);
        ranges.push_back({place->range.start + (from - place->position), to - from});
    }
    return *sink_;
}

void ContentReceivers::giveUp(std::exception_ptr why) noexcept {
    const std::lock_guard lock(mutex_);
    if (!failure_)
        failure_ = std::move(why);
    if (sink_ != nullptr)
        sink_->abandon();
    changed_.notify_all();
}

}  // namespace criu::memory
