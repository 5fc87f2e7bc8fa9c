// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/lazy/lazy_supply.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/engine/lazy/lazy_link.hpp"
#include "criu/memory/lazy/lazy_memory.hpp"

namespace criu::engine {
namespace {

/// Maximum number of threads that put pages into one process. In a measurement with jobs of 2 MiB, 16 threads on as
/// many cores took two thirds of the time of 8. With jobs of 256 KiB, they took nine tenths.
constexpr unsigned kMostSupplyThreads = 16;

}  // namespace

LazySupply::LazySupply(StopRequest& stop, Log& log)
    : stop_(stop),
      log_(log),
      events_(sys(::epoll_create1(EPOLL_CLOEXEC), "make an epoll")),
      wake_(sys(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), "make an eventfd")) {
    watch(wake_.get());
}

void LazySupply::watch(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    sys(::epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event), "watch fd {}", fd);
}

void LazySupply::wake() noexcept {
    const std::uint64_t one = 1;
    (void)!::write(wake_.get(), &one, sizeof(one));
}

void LazySupply::add(std::unique_ptr<memory::LazyMemory> memory, std::function<void()> complete) {
    addSupplied({std::move(memory), std::move(complete)});
}

void LazySupply::addSupplied(Supplied supplied) {
    const int fd = supplied.memory->fd();
    watch(fd);
    queue_.add(supplied.memory);
    memories_.insert_or_assign(fd, std::move(supplied));
}

void LazySupply::run(LazyLink& link) {
    watch(link.fd());
    watch(stop_.fd());
    const unsigned threads = std::clamp(availableCores(), 2U, kMostSupplyThreads);
    ThreadPool pool(threads);
    struct Closer {
        LazyQueue& queue;
        ~Closer() { queue.close(); }
    } const closer{queue_};
    for (unsigned i = 0; i < threads; ++i)
        pool.submit([this] { work(); });
    while (!failed_ && (!restored_ || !memories_.empty())) {
        std::array<epoll_event, 64> events{};
        constexpr int kSoon = 1;  // timeout in milliseconds
        const int count = ::epoll_wait(events_.get(), events.data(), events.size(), again_ ? kSoon : -1);
        if (count < 0 && errno != EINTR)
            failErrno("wait for events of memory");
        stop_.throwIfRequested();
        for (int i = 0; i < count; ++i)
            handle(events[static_cast<std::size_t>(i)].data.fd, link);
        if (std::exchange(again_, false))
            for (const auto& [fd, supplied] : std::unordered_map(memories_))
                takeEvents(supplied);
        dropComplete();
    }
    queue_.close();
    pool.wait();  // throws the exception of a thread
}

/// Supplies pages until the queue is closed. Each thread of the pool runs this function.
void LazySupply::work() {
    try {
        const Mapping buffer = Mapping::anonymous(LazyQueue::kMost);
        while (const auto job = queue_.next()) {
            job->memory->supply(job->request, buffer.bytes());
            if (job->memory->complete())
                wake();
        }
    } catch (...) {
        failed_ = true;
        wake();
        throw;
    }
}

void LazySupply::handle(int fd, LazyLink& link) {
    if (fd == wake_.get()) {
        std::uint64_t count = 0;
        (void)!::read(fd, &count, sizeof(count));
        return;
    }
    if (fd == link.fd())
        return receiveRestoreDone(link);
    if (const auto found = memories_.find(fd); found != memories_.end())
        takeEvents(Supplied(found->second));
}

void LazySupply::takeEvents(const Supplied& supplied) {
    const LazyQueue::Memory& memory = supplied.memory;
    memory::LazyMemory::News news = memory->takeEvents();
    again_ = again_ || news.again;
    for (const std::uint64_t page : news.wanted)
        queue_.want(memory, page);
    for (auto& child : news.children) {
        log_.debug("{}: {} bytes wait", child->name(), child->waitingBytes());
        addSupplied({std::move(child), nullptr});
    }
}

void LazySupply::receiveRestoreDone(LazyLink& link) {
    link.receiveDone(stop_);
    sys(::epoll_ctl(events_.get(), EPOLL_CTL_DEL, link.fd(), nullptr), "forget the restore");
    restored_ = true;
    queue_.startOthers();
}

void LazySupply::dropComplete() {
    std::erase_if(memories_, [this](const auto& entry) {
        const Supplied& supplied = entry.second;
        if (!supplied.memory->complete())
            return false;
        log_.info("{}: all is there, {} KiB came late", supplied.memory->name(),
                  supplied.memory->suppliedBytes() >> 10);
        // The kernel closes the userfaultfd when no thread uses it any more, and then resolves faults without the
        // daemon.
        (void)::epoll_ctl(events_.get(), EPOLL_CTL_DEL, entry.first, nullptr);
        if (supplied.complete)
            supplied.complete();
        return true;
    });
}

}  // namespace criu::engine
