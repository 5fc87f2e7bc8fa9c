// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/clones/clone_memory.hpp"

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/memory/clones/clone_store.hpp"
#include "criu/memory/lazy/lazy_events.hpp"

namespace criu::memory {
namespace {

/// Maximum number of bytes that criu maps for a fault, including the page for which a thread waits.
constexpr std::uint64_t kAround = std::uint64_t{64} << 10;
/// Maximum number of bytes that criu maps at once while no thread waits. The limit is low, because a thread that then
/// faults waits until these bytes are mapped.
constexpr std::uint64_t kAhead = std::uint64_t{1} << 20;

}  // namespace

CloneMemory::CloneMemory(std::string name, UniqueFd userfaultfd, LazyPageMap pages, CloneStore& store)
    : name_(std::move(name)), fd_(std::move(userfaultfd)), pages_(std::move(pages)), store_(store) {}

std::vector<std::unique_ptr<CloneMemory>> CloneMemory::serve() {
    const ErrorContext context([this] { return name_; });
    LazyEvents events = followEvents(fd_.get(), pages_);
    faults_.insert(faults_.end(), events.faults.begin(), events.faults.end());
    std::vector<std::unique_ptr<CloneMemory>> children;
    for (LazyChild& child : events.children)
        children.push_back(std::make_unique<CloneMemory>("a child of " + name_, std::move(child.userfaultfd),
                                                         std::move(child.pages), store_));
    std::erase_if(faults_, [this](std::uint64_t page) { return answer(page); });
    return children;
}

kernel::Supplied CloneMemory::map(const LazyPageMap::Piece& piece) {
    store_.fill(piece.source, piece.bytes);
    const kernel::Supplied result = kernel::uffdContinue(fd_.get(), piece.at, piece.bytes);
    // The piece may span several mappings, but one UFFDIO_CONTINUE call must stay within one mapping. So tries again
    // with one page.
    if (result.bytes == 0 && result.code == ENOENT && piece.bytes > kImagePageSize)
        return kernel::uffdContinue(fd_.get(), piece.at, kImagePageSize);
    return result;
}

bool CloneMemory::answer(std::uint64_t page) {
    const auto piece = pages_.waitingAt(page, kAround);
    const kernel::Supplied result = piece ? map(*piece) : kernel::uffdZeropage(fd_.get(), page, kImagePageSize);
    if (result.bytes != 0)
        return true;
    switch (result.code) {
        case EAGAIN:
            return false;  // the kernel has an event that serve() must process first
        case ESRCH:
            gone_ = true;
            return true;
        case EEXIST:
        case ENOENT:  // the page is mapped already, or its mapping was removed
            kernel::uffdWake(fd_.get(), page, kImagePageSize);
            return true;
        default:
            failWith(result.code, "put the page of {:#x} there", page);
    }
}

bool CloneMemory::mapAhead() {
    const ErrorContext context([this] { return name_; });
    if (gone_)
        return false;
    const auto piece = pages_.waitingFrom(ahead_, kAhead);
    if (!piece)
        return false;
    const kernel::Supplied result = map(*piece);
    if (result.bytes != 0) {
        ahead_ = piece->at + result.bytes;
        return true;
    }
    switch (result.code) {
        case EAGAIN:
            return true;
        case ESRCH:
            gone_ = true;
            return false;
        case EEXIST:
        case ENOENT:
            ahead_ = piece->at + kImagePageSize;
            return true;
        default:
            failWith(result.code, "map pages of {:#x}", piece->at);
    }
}

bool CloneMemory::isGone() {
    // Serves an arbitrary page only to find out whether the process has ended. This is harmless, because answer()
    // handles a page correctly in each state.
    const auto any = pages_.waitingFrom(0, kImagePageSize);
    constexpr std::uint64_t kSomewhere = std::uint64_t{1} << 16;
    if (!gone_)
        (void)answer(any ? any->at : kSomewhere);
    return gone_;
}

}  // namespace criu::memory
