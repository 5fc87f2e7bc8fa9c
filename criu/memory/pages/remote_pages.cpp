// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/pages/remote_pages.hpp"

#include "criu/base/error.hpp"
#include "criu/memory/pages/page_server_protocol.hpp"

namespace criu::memory {
namespace {

/// Receives the reply to a request for pages. Returns the number of bytes received.
std::uint64_t receivePages(PageConnection& server, std::uint64_t address, std::span<std::byte> into) {
    PageMessage answer;
    if (!server.receive(std::as_writable_bytes(std::span(&answer, 1))))
        fail("the other side has gone: it still had pages");
    if (answer.command() != PageCommand::AddFlagged || answer.address != address || answer.pages == 0 ||
        answer.pages > into.size() / kImagePageSize || !has(static_cast<PageFlags>(answer.flags()), PageFlags::Present))
        fail("asked for {} pages at {:#x}, it answers with {} pages at {:#x} (message {:#x})",
             into.size() / kImagePageSize, address, answer.pages, answer.address, answer.word);
    const std::uint64_t bytes = answer.pages * kImagePageSize;
    if (!server.receive(into.first(bytes)))
        fail("the other side has gone within pages");
    return bytes;
}

}  // namespace

void RemotePages::fetch(const MemoryObject& object, std::uint64_t address, std::span<std::byte> into) {
    const ErrorContext context([] { return "page server"; });
    while (!into.empty()) {
        const std::uint64_t got = fetchSome(object, address, into);
        address += got;
        into = into.subspan(got);
    }
}

std::uint64_t RemotePages::fetchSome(const MemoryObject& object, std::uint64_t address, std::span<std::byte> into) {
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(sending_);
        // In this message, the field `object` is only the pid, without a kind in the low byte.
        const PageMessage request{wordOf(PageCommand::Get), 0, into.size() / kImagePageSize, address, object.id};
        server_.send(std::as_bytes(std::span(&request, 1)));
        number = sent_++;
    }
    std::unique_lock lock(receiving_);
    turn_.wait(lock, [&] { return broken_ || received_ == number; });
    if (broken_)
        failWith(ECANCELED, "get pages: another request has failed");
    try {
        const std::uint64_t got = receivePages(server_, address, into);
        ++received_;
        turn_.notify_all();
        return got;
    } catch (...) {
        broken_ = true;
        turn_.notify_all();
        throw;
    }
}

void RemotePages::finish() {
    const ErrorContext context([] { return "page server"; });
    const PageMessage close{wordOf(PageCommand::Close)};
    server_.send(std::as_bytes(std::span(&close, 1)));
    (void)server_.receiveNumber<std::int32_t>();
    server_.endSecurity();
}

}  // namespace criu::memory
