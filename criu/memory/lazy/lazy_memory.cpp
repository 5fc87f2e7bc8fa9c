// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/lazy/lazy_memory.hpp"

#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/kernel/mm/uffd_missing.hpp"
#include "criu/memory/lazy/lazy_events.hpp"

namespace criu::memory {

void LazyMemory::Gate::enterPutting() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !taking_; });
    ++putting_;
}

void LazyMemory::Gate::leavePutting() {
    const std::lock_guard lock(mutex_);
    if (--putting_ == 0)
        changed_.notify_all();
}

void LazyMemory::Gate::enterTaking() {
    std::unique_lock lock(mutex_);
    taking_ = true;
    changed_.wait(lock, [this] { return putting_ == 0; });
}

void LazyMemory::Gate::leaveTaking() {
    const std::lock_guard lock(mutex_);
    taking_ = false;
    changed_.notify_all();
}

LazyMemory::LazyMemory(std::string name, UniqueFd fd, LazyPageMap pages, std::shared_ptr<const LazyContent> content)
    : name_(std::move(name)), fd_(std::move(fd)), content_(std::move(content)), pages_(std::move(pages)) {}

std::optional<LazyPageMap::Request> LazyMemory::takeAt(std::uint64_t address, std::uint64_t most) {
    const std::lock_guard lock(mutex_);
    return pages_.takeAt(address, most);
}

std::optional<LazyPageMap::Request> LazyMemory::takeNext(std::uint64_t most) {
    const std::lock_guard lock(mutex_);
    return pages_.takeNext(most);
}

std::uint64_t LazyMemory::waitingBytes() const {
    const std::lock_guard lock(mutex_);
    return pages_.waitingBytes();
}

bool LazyMemory::complete() const {
    const std::lock_guard lock(mutex_);
    return pages_.complete() && !hasFaults_;
}

LazyMemory::News LazyMemory::takeEvents() {
    const ErrorContext context([this] { return name_; });
    News news;
    gate_.enterTaking();
    try {
        readEvents(news);
        answerFaults(news);
    } catch (...) {
        gate_.leaveTaking();
        throw;
    }
    gate_.leaveTaking();
    return news;
}

void LazyMemory::readEvents(News& news) {
    const std::lock_guard lock(mutex_);
    LazyEvents events = followEvents(fd_.get(), pages_);
    faults_.insert(faults_.end(), events.faults.begin(), events.faults.end());
    for (LazyChild& child : events.children)
        news.children.push_back(std::make_unique<LazyMemory>("a child of " + name_, std::move(child.userfaultfd),
                                                             std::move(child.pages), content_));
}

void LazyMemory::answerFaults(News& news) {
    std::erase_if(faults_, [&](std::uint64_t page) {
        const LazyPageMap::State state = stateOf(page);
        if (state == LazyPageMap::State::Waiting)
            news.wanted.push_back(page);
        if (state != LazyPageMap::State::Unknown)
            return true;
        const kernel::Supplied result = kernel::uffdZeropage(fd_.get(), page, kImagePageSize);
        if (result.code == EAGAIN && result.bytes == 0)
            return false;
        if (result.code == ESRCH)
            lose();
        else if (result.code != 0)
            // The page has arrived or was removed: the thread tries again.
            kernel::uffdWake(fd_.get(), page, kImagePageSize);
        return true;
    });
    hasFaults_ = !faults_.empty();
    news.again = hasFaults_;
}

LazyPageMap::State LazyMemory::stateOf(std::uint64_t page) const {
    const std::lock_guard lock(mutex_);
    return pages_.stateOf(page);
}

void LazyMemory::lose() {
    const std::lock_guard lock(mutex_);
    pages_.clear();
}

void LazyMemory::supply(const LazyPageMap::Request& request, std::span<std::byte> buffer) {
    const ErrorContext context([this] { return name_; });
    const std::span<std::byte> content = buffer.first(request.bytes);
    content_->read(request.source, content);
    for (std::uint64_t most = request.bytes;;) {
        gate_.enterPutting();
        std::vector<LazyPageMap::Piece> places;
        {
            const std::lock_guard lock(mutex_);
            places = pages_.placesOf(request.number);
            if (places.empty())
                pages_.close(request.number);
        }
        bool progress = false;
        try {
            if (!places.empty())
                progress = put(request, places.front(), content, most);
        } catch (...) {
            gate_.leavePutting();
            throw;
        }
        gate_.leavePutting();
        if (places.empty())
            return;
        constexpr useconds_t kPause = 100;
        if (!progress)
            ::usleep(kPause);  // the thread that reads events must process an event first
    }
}

bool LazyMemory::put(const LazyPageMap::Request& request, const LazyPageMap::Piece& piece,
                     std::span<const std::byte> content, std::uint64_t& most) {
    const std::uint64_t size = std::min(piece.bytes, most);
    const kernel::Supplied result =
        kernel::uffdCopy(fd_.get(), piece.at, content.subspan(piece.source - request.source, size));
    std::uint64_t done = result.bytes;
    if (done == 0) {
        switch (result.code) {
            case EAGAIN:
                return false;
            case ENOENT:
                // A piece may span several mappings, but one UFFDIO_COPY call must stay within one mapping. So tries
                // again with half of it. A single page fails only if the process has unmapped it.
                if (size > kImagePageSize) {
                    most = size / 2 & ~(kImagePageSize - 1);
                    return true;
                }
                done = kImagePageSize;
                break;
            case EEXIST:
                kernel::uffdWake(fd_.get(), piece.at, kImagePageSize);
                done = kImagePageSize;
                break;
            case ESRCH:
            case ENOSPC:  // kernels before Linux 4.13 return ENOSPC for an ended process
                lose();
                return true;
            default:
                failWith(result.code, "put pages of {:#x} there", piece.at);
        }
    }
    supplied_ += result.bytes;
    most = request.bytes;
    const std::lock_guard lock(mutex_);
    pages_.arrived(request.number, piece.at, done);
    return true;
}

}  // namespace criu::memory
