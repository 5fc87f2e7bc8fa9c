// SPDX-License-Identifier: GPL-2.0-only
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/images/dedup.hpp"
#include "criu/engine/images/dump_images.hpp"
#include "criu/engine/images/encrypted_pages.hpp"
#include "criu/engine/images/image_keys.hpp"
#include "criu/engine/images/image_transfer.hpp"
#include "criu/engine/images/parent_images.hpp"
#include "criu/engine/lazy/lazy_page_server.hpp"
#include "criu/engine/pageserver/page_server_connection.hpp"
#include "criu/engine/pageserver/server_start.hpp"
#include "criu/engine/progress.hpp"
#include "criu/image/checksum_list.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/written_sums.hpp"
#include "criu/memory/pages/content_streams.hpp"
#include "criu/memory/pages/page_extensions.hpp"
#include "criu/memory/pages/page_file_sinks.hpp"
#include "criu/memory/pages/page_server_protocol.hpp"
#include "criu/model/options.hpp"

namespace criu::engine {
namespace {

using memory::PageCommand;
using memory::PageMessage;

/// Number of the first pages file of a page server. It is above the numbers that a dump uses, because the dump may
/// write pages files to the same directory.
constexpr std::uint32_t kFirstNumber = 0x10001;

constexpr std::size_t kBuffer = std::size_t{1} << 20;

/// Receives and stores the pages of one sender.
class Session {
public:
    /// `listening`: socket for additional connections of this sender. The session closes it when it expects no
    /// connection any more.
    Session(Run& run, ImageDir& images, memory::PageConnection& sender, ListeningPageServer& listening)
        : run_(run), place_(images), sender_(sender), listening_(listening) {
        sinks_.emplace(place_, memory::Striping{}, kFirstNumber);
    }

    /// Returns when all pages are received and stored. Throws Error.
    void run() {
        try {
            takeMessages();
        } catch (const Error&) {
            // Throws the error of a receiving thread, if there is one. If a receiving thread fails, the calling thread
            // only gets the error of a lost connection.
            if (receivers_)
                receivers_->rethrow();
            throw;
        }
    }

private:
    void takeMessages() {
        for (bool first = true; !closed_; first = false) {
            PageMessage message = receiveMessage();
            if (first && encryptsWith(message))
                message = receiveMessage();
            const ErrorContext context([&] {
                return fmt::format("message {} about pages at {:#x} of object {:#x}", message.word & 0xffff,
                                   message.address, message.object);
            });
            const bool wantsStreams = message.command() == PageCommand::Streams;
            if (wantsStreams && !first)
                fail("it is too late for that");
            if (wantsStreams)
                openStreams(message);
            listening_.socket.reset();
            if (!wantsStreams)
                answer(message);
        }
    }

    PageMessage receiveMessage() {
        PageMessage message;
        if (!sender_.receive(std::as_writable_bytes(std::span(&message, 1))))
            fail("the sender has gone before it had sent all pages");
        return message;
    }

    /// Returns true if the first message, `message`, announces keys. Throws Error if only one side, sender or server,
    /// wants encryption.
    bool encryptsWith(const PageMessage& message) {
        const bool encrypts = message.command() == PageCommand::Encrypt;
        if (encrypts && run_.keys.recipients.empty())
            fail("the sender encrypts its images, and this server doesn't (--encrypt)");
        if (!encrypts && !run_.keys.recipients.empty())
            fail("this server encrypts pages (--encrypt), and the sender doesn't encrypt its images");
        if (!encrypts)
            return false;
        store_.emplace(run_, place_, sender_, message);
        sinks_.emplace(images(), memory::Striping{}, kFirstNumber);
        reply(std::int32_t{0});
        return true;
    }

    [[nodiscard]] const ImageDir& images() const noexcept { return store_ ? store_->images() : place_; }

    void openStreams(const PageMessage& message) {
        // Starts the threads that receive content before any page is stored. `receivers_` ends them before the sinks
        // are destroyed.
        receivers_.emplace(acceptStreams(sender_, listening_, message.pages, run_.options, run_.stop), sender_);
        run_.log.info("Accepted {} connections for content", receivers_->count());
        if (message.address == memory::kFilesAsPaysOff)
            sinks_.emplace(images(), memory::Striping::usual(), kFirstNumber);
        else if (message.address > 1)
            sinks_.emplace(images(),
                           memory::Striping::asWished(std::min<unsigned>(
                               static_cast<unsigned>(message.address & 0xffff), memory::kMostStreams)),
                           kFirstNumber);
    }

    void answer(const PageMessage& message) {
        switch (message.command()) {
            case PageCommand::Open:
                return open(message);
            case PageCommand::OpenAndTell:
                open(message);
                return reply(static_cast<std::uint8_t>((parent_ ? memory::kHasParent : 0) |
                                                       (striped() ? memory::kInSeveralFiles : 0)));
            case PageCommand::Parent:
                return reply(static_cast<std::int32_t>(sinks_->parentOf(objectOf(message)) ? 1 : 0));
            case PageCommand::Add:
                return add(message, PageFlags::Present);
            case PageCommand::Hole:
                return add(message, PageFlags::Parent);
            case PageCommand::AddFlagged:
                return add(message, flagsOf(message));
            case PageCommand::AddApart:
                if (!receivers_)
                    fail("there are no connections for content");
                return add(message, flagsOf(message), true);
            case PageCommand::Close:
            case PageCommand::CloseForGood:
                complete();
                if (receivers_)
                    receivers_->finish();
                if (store_)
                    store_->finish();
                closed_ = true;
                return reply(std::int32_t{0});
            case PageCommand::Get:
                fail("pages are asked for, but this server only takes some");
            case PageCommand::Streams:
            case PageCommand::Join:
            case PageCommand::Content:
            case PageCommand::Encrypt:
                break;
        }
        fail("a message of an unknown kind");
    }

    [[nodiscard]] static memory::MemoryObject objectOf(const PageMessage& message) {
        const auto object = memory::objectOf(message.object);
        if (!object)
            fail("pages of an unknown kind");
        return *object;
    }

    /// Returns the flags of a run of pages. Throws Error for unknown flags, and for a run without flags.
    [[nodiscard]] static PageFlags flagsOf(const PageMessage& message) {
        constexpr auto kKnown = static_cast<std::uint32_t>(PageFlags::Parent | PageFlags::Lazy | PageFlags::Present);
        const std::uint32_t flags = message.flags();
        if (flags == 0 || (flags & ~kKnown) != 0)
            fail("unknown flags of pages: {:#x}", flags);
        return static_cast<PageFlags>(flags);
    }

    /// Returns the run of pages that a message announces. Throws Error if an address is beyond the largest file offset,
    /// because later multiplications of the address could overflow.
    [[nodiscard]] static memory::PageRun runOf(const PageMessage& message, PageFlags flags) {
        constexpr std::uint64_t kEnd = std::uint64_t{1} << 63;
        if (message.address % kImagePageSize != 0 || message.address >= kEnd)
            fail("no page begins there");
        if (message.pages == 0 || message.pages > (kEnd - message.address) / kImagePageSize)
            fail("{} pages, which is out of range", message.pages);
        return {message.address, message.pages * kImagePageSize, flags};
    }

    void open(const PageMessage& message) {
        complete();
        const memory::MemoryObject object = objectOf(message);
        parent_ = sinks_->parentOf(object);
        constexpr std::uint64_t kEnough = std::uint64_t{1} << 50;  // prevents an overflow
        sink_ = sinks_->open(object, receivers_ ? std::min(message.pages, kEnough) * kImagePageSize : 0);
        object_ = message.object;
        if (receivers_)
            receivers_->begin(object_, *sink_);
    }

    /// Adds a run of pages to the sink. `apart`: true if the sender sends the content by additional connections.
    void add(const PageMessage& message, PageFlags flags, bool apart = false) {
        const memory::PageRun run = runOf(message, flags);
        if (!sink_ || object_ != message.object)
            open(message);  // senders of older CRIU versions don't send PageCommand::Open
        if (has(flags, PageFlags::Parent))
            requireInParent(run);
        const std::uint64_t position = sink_->add(std::span(&run, 1));
        if (!has(flags, PageFlags::Present))
            return;
        if (apart)
            receivers_->expect(run, position);
        else
            receiveContent(run, position);
    }

    void requireInParent(const memory::PageRun& run) const {
        if (!parent_)
            fail("pages that should be in earlier images, but there are none here (--prev-images-dir)");
        parent_->forEach(run.address, run.address + run.bytes, [](std::uint64_t from, std::uint64_t, bool there) {
            if (!there)
                fail("the earlier images have no page at {:#x}", from);
        });
    }

    void receiveContent(const memory::PageRun& run, std::uint64_t position) {
        for (std::uint64_t done = 0; done < run.bytes;) {
            const std::size_t part = std::min<std::uint64_t>(run.bytes - done, buffer_.size());
            const std::span<std::byte> content(buffer_.data(), part);
            if (!sender_.receive(content))
                fail("the sender has gone within pages");
            const kernel::RemoteRange range{run.address + done, part};
            sink_->write({position + done, std::span(&range, 1), content});
            done += part;
        }
    }

    void complete() {
        if (!sink_)
            return;
        if (receivers_)
            receivers_->complete();
        sink_->finish();
        sink_.reset();
    }

    [[nodiscard]] bool striped() const {
        const std::vector<std::string> extensions = sinks_->extensions();
        return std::find(extensions.begin(), extensions.end(), memory::kStripedPages) != extensions.end();
    }

    template <typename Number>
    void reply(Number number) {
        sender_.send(std::as_bytes(std::span(&number, 1)));
    }

    Run& run_;
    ImageDir& place_;
    memory::PageConnection& sender_;
    ListeningPageServer& listening_;
    std::optional<EncryptedStore> store_;  ///< encrypted pages; empty if the server stores pages without encryption
    std::optional<memory::FilePageSinks> sinks_;
    std::unique_ptr<memory::PageSink> sink_;
    // Declared after the sink, so that its threads end before the sink is destroyed.
    std::optional<memory::ContentReceivers> receivers_;
    std::uint64_t object_ = 0;
    std::optional<memory::ParentPages> parent_;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(kBuffer);
    bool closed_ = false;
};

/// Accepts and serves one sender. The connection ends when the server exits.
void serve(Run& run, ImageDir& images, ListeningPageServer listening) {
    announceReady(run);
    if (!run.options.detached && run.options.pageServerSocket < 0)
        showWait(run.options, fmt::format("Page server: waiting at port {} for {}. Ctrl-C ends it.", listening.port,
                                          run.options.lazyPages ? "criu lazy-pages" : "a dump or pre-dump"));
    memory::PageConnection sender = acceptSender(listening, run.options, run.stop, run.log);
    if (run.options.pageServerSocket < 0)
        run.log.info("Accepted a connection");
    if (run.options.lazyPages) {
        listening.socket.reset();
        return serveImagePages(sender, images, run.options.pageServerSocket >= 0);
    }
    Session(run, images, sender, listening).run();
    std::byte more{};
    // Waits until the sender has closed the connection, because the side that closes first keeps the port in TIME_WAIT.
    if (run.options.pageServerSocket < 0 && sender.receive(std::span(&more, 1)))
        fail("the sender goes on after the end");
    if (run.options.pageServerSocket >= 0)
        sender.endSecurity();
    run.log.info("Page server: all pages are stored");
    if (images.sums() != nullptr)
        writeChecksums(images, ChecksumList::OfPageServer, images.sums()->all());
    dedupParents(images, run);
}

int listenAndServe(Run& run, ImageDir& images) {
    ListeningPageServer listening;
    if (run.options.pageServerSocket < 0) {
        listening = listenForPages(run.options);
        run.listeners.setPort(listening.port);
        run.log.info("Page server listens at port {}", listening.port);
    }
    if (!run.options.detached) {
        serve(run, images, std::move(listening));
        return 0;
    }
    if (daemonize(run, "page server"))
        return 0;
    try {
        serve(run, images, std::move(listening));
    } catch (const std::exception& error) {
        run.log.failure(error);
        ::_exit(1);
    }
    ::_exit(0);
}

}  // namespace

int pageServer(Run& run) {
    if (!run.keys.recipients.empty()) {
        ImageDir place = takeImages(run);
        if (run.options.previousImages)
            linkParentImages(run, place);
        return listenAndServe(run, place);
    }
    if (run.options.lazyPages) {
        IncomingImages stored = openIncoming(run);
        return listenAndServe(run, stored.images);
    }
    ImageDir images = openDumpImages(run);
    return listenAndServe(run, images);
}

}  // namespace criu::engine
