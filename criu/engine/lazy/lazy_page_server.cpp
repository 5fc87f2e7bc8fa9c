// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/lazy/lazy_page_server.hpp"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/memory/lazy/lazy_content.hpp"
#include "criu/memory/pages/drain.hpp"
#include "criu/memory/pages/memory_reader.hpp"
#include "criu/memory/pages/page_connection.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/memory/pages/page_server_protocol.hpp"

namespace criu::engine {
namespace {

using memory::PageCommand;
using memory::PageMessage;

/// Maximum size of a reply in bytes; CRIU 4.2 never requests more. A client that requests more gets the first part, and
/// must request the remaining part again.
constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20;

class FrozenPages final : public memory::PageSupplier {
public:
    explicit FrozenPages(FrozenTree& tree) {
        for (const auto& task : tree.tasks())
            if (task->alive())
                tasks_.emplace(static_cast<std::uint64_t>(task->treePid().value), task.get());
    }

    void fetch(const memory::MemoryObject& object, std::uint64_t address, std::span<std::byte> into) override {
        const auto found = tasks_.find(object.id);
        if (found == tasks_.end())
            fail("the tree has no process {}", object.id);
        memory::DrainSource source;
        source.pid = found->second->pid();
        source.process = &found->second->dir;
        const kernel::RemoteRange range{address, into.size()};
        memory::MemoryReader(source).read({&range, 1}, {false}, into);
    }

private:
    std::unordered_map<std::uint64_t, const FrozenTask*> tasks_;
};

class ImagePages final : public memory::PageSupplier {
public:
    explicit ImagePages(const ImageDir& images) : sources_(images) {}

    void fetch(const memory::MemoryObject& object, std::uint64_t address, std::span<std::byte> into) override {
        auto found = open_.find(object.id);
        if (found == open_.end())
            found = open_.emplace(object.id, std::make_unique<Open>(sources_.openRequired(object), object)).first;
        for (const memory::PageJob& job : found->second->source.jobs(address, address + into.size()))
            if (job.state == memory::PageJob::State::Absent)
                fail("the images have no page at {:#x}", job.address);
        found->second->content.read(address, into);
    }

private:
    struct Open {
        Open(memory::PageSource from, const memory::MemoryObject& object)
            : source(std::move(from)), content(source, object, nullptr) {}
        const memory::PageSource source;
        const memory::LazyContent content;
    };

    memory::FilePageSources sources_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Open>> open_;
};

void answer(memory::PageConnection& client, memory::PageSupplier& pages, const PageMessage& request,
            std::span<std::byte> buffer) {
    if (request.pages == 0 || request.address % kImagePageSize != 0)
        fail("a request for {} pages", request.pages);
    const std::uint64_t count = std::min<std::uint64_t>(request.pages, buffer.size() / kImagePageSize);
    const std::span<std::byte> content = buffer.first(count * kImagePageSize);
    pages.fetch({memory::MemoryObject::Kind::Process, request.object}, request.address, content);
    PageMessage head = request;
    head.word = wordOf(PageCommand::AddFlagged, PageFlags::Present);
    head.pages = count;
    client.send(std::as_bytes(std::span(&head, 1)), true);
    client.send(content);
}

}  // namespace

void servePageRequests(memory::PageConnection& client, memory::PageSupplier& pages, bool reused) {
    std::vector<std::byte> buffer(kMostBytes);
    for (;;) {
        PageMessage request;
        if (!client.receive(std::as_writable_bytes(std::span(&request, 1))))
            fail("the client closed the connection before it had all pages");
        const ErrorContext context(
            [&] { return fmt::format("request for pages at {:#x} of process {}", request.address, request.object); });
        switch (request.command()) {
            case PageCommand::Get:
                answer(client, pages, request, buffer);
                continue;
            case PageCommand::Close:
            case PageCommand::CloseForGood:
                break;
            default:
                fail("message {:#x} instead of a request for pages", request.word);
        }
        const std::int32_t done = 0;
        client.send(std::as_bytes(std::span(&done, 1)));
        // Lets the client close first: the side that closes first keeps the port in TIME_WAIT.
        if (std::byte more{}; !reused && client.receive(std::span(&more, 1)))
            fail("the other side goes on after the end");
        return;
    }
}

void serveFrozenPages(memory::PageConnection& client, FrozenTree& tree, bool reused) {
    FrozenPages pages(tree);
    servePageRequests(client, pages, reused);
}

void serveImagePages(memory::PageConnection& client, ImageDir& images, bool reused) {
    images.openParents();
    ImagePages pages(images);
    servePageRequests(client, pages, reused);
}

}  // namespace criu::engine
