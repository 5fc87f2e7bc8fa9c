// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/remote_page_sinks.hpp"

#include <algorithm>
#include <deque>

#include "criu/base/error.hpp"
#include "criu/base/sequenced_execution.hpp"
#include "criu/memory/pages/content_streams.hpp"
#include "criu/memory/pages/page_extensions.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"

namespace criu::memory {

/// Sink that sends blocks in ascending order of positions, because the server appends each block to its file. A block
/// waits until all earlier blocks are sent.
class RemotePageSinks::Sink final : public PageSink {
public:
    Sink(RemotePageSinks& owner, const MemoryObject& object) : owner_(owner), object_(objectNumber(object)) {
        (void)owner_.ask<std::uint8_t>({wordOf(PageCommand::OpenAndTell), 0, 0, 0, object_});
    }
    ~Sink() override { owner_.close(); }

    std::uint64_t write(const PageBlock& block) override {
        turns_.run(block.position, block.bytes.size(), [&] { sendBlock(block.bytes); });
        return 0;  // zero pages are also sent
    }

    void finish() override {
        const std::lock_guard lock(mutex_);
        sendWithoutContent();
        if (!runs_.empty())
            fail("pages at {:#x} have no content", runs_.front().address);
    }

    [[nodiscard]] bool isOrdered() const noexcept override { return true; }

    void abandon() noexcept override { turns_.abandon(); }

private:
    void append(std::span<const PageRun> runs, std::uint64_t) override {
        const std::lock_guard lock(mutex_);
        runs_.insert(runs_.end(), runs.begin(), runs.end());
    }

    /// Sends the runs without content that come before the next run with content.
    void sendWithoutContent() {
        for (; !runs_.empty() && !has(runs_.front().flags, PageFlags::Present); runs_.pop_front())
            owner_.send(message(runs_.front(), runs_.front().bytes));
    }

    /// Sends the content of a block. Other threads may add runs at the same time, but only one thread sends.
    void sendBlock(std::span<const std::byte> content) {
        while (!content.empty()) {
            const PageMessage header = nextRun(content.size());
            const std::uint64_t part = header.pages * kImagePageSize;
            owner_.send(header, content.first(part));
            content = content.subspan(part);
        }
    }

    /// Removes at most `most` bytes of content from the first run with content, and returns a message header for them.
    /// Sends the runs without content that come before.
    PageMessage nextRun(std::size_t most) {
        const std::lock_guard lock(mutex_);
        sendWithoutContent();
        PageRun& run = runs_.front();
        const std::size_t part = std::min<std::size_t>(run.bytes, most);
        const PageMessage header = message(run, part);
        run.address += part;
        run.bytes -= part;
        if (run.bytes == 0)
            runs_.pop_front();
        return header;
    }

    [[nodiscard]] PageMessage message(const PageRun& run, std::uint64_t bytes) const noexcept {
        return {wordOf(PageCommand::AddFlagged, run.flags), 0, bytes / kImagePageSize, run.address, object_};
    }

    RemotePageSinks& owner_;
    const std::uint64_t object_;
    SequencedExecution turns_;
    std::mutex mutex_;
    std::deque<PageRun> runs_;  ///< runs that aren't sent yet
};

/// Sink that sends blocks at once from any thread. Each content message contains its position, so the server can write
/// blocks in any order.
class RemotePageSinks::StreamedSink final : public PageSink {
public:
    StreamedSink(RemotePageSinks& owner, const MemoryObject& object, std::uint64_t expected)
        : owner_(owner), object_(objectNumber(object)) {
        const auto answer =
            owner_.ask<std::uint8_t>({wordOf(PageCommand::OpenAndTell), 0, expected / kImagePageSize, 0, object_});
        if ((answer & kInSeveralFiles) != 0)
            owner_.striped_ = true;
    }
    ~StreamedSink() override { owner_.close(); }

    std::uint64_t write(const PageBlock& block) override {
        owner_.streams_->send(object_, block.position, block.bytes);
        return 0;  // zero pages are also sent
    }

    void finish() override {}  // nothing to do: the server waits for the content before the next object, and at the end

private:
    void append(std::span<const PageRun> runs, std::uint64_t) override {
        std::vector<PageMessage> messages;
        messages.reserve(runs.size());
        for (const PageRun& run : runs)
            messages.push_back(
                {wordOf(PageCommand::AddApart, run.flags), 0, run.bytes / kImagePageSize, run.address, object_});
        owner_.send(messages);
    }

    RemotePageSinks& owner_;
    const std::uint64_t object_;
};

RemotePageSinks::RemotePageSinks(PageConnection server, bool reused) : server_(std::move(server)), reused_(reused) {}

RemotePageSinks::RemotePageSinks(PageConnection server, std::vector<PageConnection> streams)
    : server_(std::move(server)), reused_(false), streams_(std::make_unique<ContentSenders>(std::move(streams))) {}

RemotePageSinks::~RemotePageSinks() = default;

std::unique_ptr<PageSink> RemotePageSinks::open(const MemoryObject& object, std::uint64_t expected) {
    {
        std::unique_lock lock(turns_);
        free_.wait(lock, [this] { return !taken_; });
        taken_ = true;
    }
    try {
        if (streams_)
            return std::make_unique<StreamedSink>(*this, object, expected);
        return std::make_unique<Sink>(*this, object);
    } catch (...) {
        close();
        throw;
    }
}

void RemotePageSinks::close() noexcept {
    const std::lock_guard lock(turns_);
    taken_ = false;
    free_.notify_one();
}

std::optional<ParentPages> RemotePageSinks::parentOf(const MemoryObject& object) {
    if (ask<std::int32_t>({wordOf(PageCommand::Parent), 0, 0, 0, objectNumber(object)}) == 0)
        return std::nullopt;
    return ParentPages::all();
}

std::vector<std::string> RemotePageSinks::extensions() const {
    return striped_ ? std::vector<std::string>{kStripedPages} : std::vector<std::string>{};
}

void RemotePageSinks::finish() {
    if (streams_)
        streams_->finish();
    const PageCommand command = reused_ ? PageCommand::CloseForGood : PageCommand::Close;
    if (const auto status = ask<std::int32_t>({wordOf(command), 0, 0, 0, 0}); status != 0)
        fail("the page server couldn't store all pages (status {})", status);
    server_.endSecurity();
}

void RemotePageSinks::send(const PageMessage& message, std::span<const std::byte> content) {
    const std::lock_guard lock(talking_);
    server_.send(std::as_bytes(std::span(&message, 1)), true);
    server_.send(content);
}

void RemotePageSinks::send(std::span<const PageMessage> messages) {
    const std::lock_guard lock(talking_);
    server_.send(std::as_bytes(messages));
}

template <typename Number>
Number RemotePageSinks::ask(const PageMessage& question) {
    const std::lock_guard lock(talking_);
    server_.send(std::as_bytes(std::span(&question, 1)));
    return server_.receiveNumber<Number>();
}

}  // namespace criu::memory
