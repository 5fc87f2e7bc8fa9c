// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/mappings/aio_ring.hpp"

#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/mm/process_vm.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "images/mm.hpp"

namespace criu::memory {
namespace {

/// Header of a ring; the events follow it. It is part of the kernel's interface, because libaio reads it, too.
struct RingHead {
    std::uint32_t id;      ///< number by which the kernel finds the context
    std::uint32_t events;  ///< capacity in events
    std::uint32_t head;    ///< index of the oldest event that the task hasn't read
    std::uint32_t tail;    ///< index at which the kernel writes the next event
    std::uint32_t magic;
    std::uint32_t compatible;
    std::uint32_t incompatible;
    std::uint32_t headSize;
};
constexpr std::uint32_t kMagic = 0xa10a10a1;
constexpr std::uint32_t kCompatible = 1;
static_assert(sizeof(RingHead) == sizeof(io_event));

std::uint64_t eventsIn(std::uint64_t bytes) {
    return (bytes - sizeof(RingHead)) / sizeof(io_event);
}

void check(const RingHead& head, std::uint64_t bytes) {
    const bool known = head.magic == kMagic && head.compatible == kCompatible && head.incompatible == 0 &&
                       head.headSize == sizeof(RingHead);
    if (!known || head.events != eventsIn(bytes) || head.head >= head.events || head.tail >= head.events)
        fail("no ring of asynchronous I/O in a known form (magic {:#x}, {} events, at {} and {})", head.magic,
             head.events, head.head, head.tail);
}

/// Returns the argument of io_setup(2) that creates a ring of `bytes` bytes. The kernel doubles the argument, adds two,
/// and rounds up to whole pages (fs/aio.c).
std::uint32_t requestsFor(std::uint64_t bytes) {
    return static_cast<std::uint32_t>((eventsIn(bytes) - 2) / 2);
}

RingHead readHead(std::span<const std::byte> ring) {
    RingHead head{};
    std::memcpy(&head, ring.data(), sizeof(head));
    return head;
}

/// Advances the head and tail of a new ring. Only the kernel may set the tail, so this class submits real requests.
/// They write to a memfd, and therefore finish at submission.
class RingPositionSetter {
public:
    RingPositionSetter(aio_context_t context, std::uint32_t events)
        : context_(context),
          events_(events),
          target_(sys(::memfd_create("aio", MFD_CLOEXEC), "create a file for asynchronous I/O")) {
        request_.aio_fildes = static_cast<std::uint32_t>(target_.get());
        request_.aio_buf = reinterpret_cast<std::uint64_t>(&byte_);
        request_.aio_nbytes = 1;
        request_.aio_lio_opcode = IOCB_CMD_PWRITE;
    }

    /// Adds `count` results to the ring, so that the tail advances by `count`.
    void fill(std::uint32_t count) {
        std::vector<iocb*> requests(count, &request_);
        for (std::uint32_t done = 0; done < count;)
            done += static_cast<std::uint32_t>(
                sys(::syscall(SYS_io_submit, context_, static_cast<long>(count - done), requests.data()),
                    "submit {} asynchronous writes", count - done));
    }

    /// Adds `count` results and reads them, so that head and tail advance by `count`.
    void turn(std::uint32_t count) {
        // Adds at most half a ring at a time: the kernel reserves a part of the ring for each processor.
        const std::uint32_t step = std::max(events_ / 2, 1U);
        std::vector<io_event> results(step);
        while (count > 0) {
            const std::uint32_t now = std::min(count, step);
            fill(now);
            const long taken = sys(::syscall(SYS_io_getevents, context_, static_cast<long>(now), static_cast<long>(now),
                                             results.data(), nullptr),
                                   "take {} results of asynchronous writes", now);
            count -= static_cast<std::uint32_t>(taken);
        }
    }

private:
    aio_context_t context_;
    std::uint32_t events_;
    UniqueFd target_;
    char byte_ = 0;
    iocb request_{};
};

}  // namespace

bool isAioRing(std::string_view name) noexcept {
    return name == "/[aio] (deleted)" || name == "/[aio]";
}

void storeAioRings(HostPid process, std::span<const VmaEntry* const> vmas, MmEntry& mm, Arena& arena) {
    std::vector<AioRingEntry*> rings;
    for (const VmaEntry* vma : vmas) {
        if (!is(*vma, VmaStatus::AioRing))
            continue;
        {
            const ErrorContext context([&] { return fmt::format("memory at {:#x}", vma->start); });
            std::byte begin[sizeof(RingHead)];
            kernel::readMemory(process.value, vma->start, begin);
            check(readHead(begin), vma->end - vma->start);
        }
        auto& ring = *arena.make<AioRingEntry>();
        ring.id = vma->start;
        ring.ring_len = static_cast<std::uint32_t>(vma->end - vma->start);
        ring.nr_req = requestsFor(ring.ring_len);
        rings.push_back(&ring);
    }
    mm.n_aios = rings.size();
    mm.aios = arena.copy(std::span<AioRingEntry* const>(rings));
}

Range makeAioRing(const AioRingEntry& ring, std::span<const std::byte> content) {
    if (content.size() != ring.ring_len || content.size() < machinePageSize())
        fail("{} bytes of content instead of {}", content.size(), ring.ring_len);
    const RingHead wanted = readHead(content);
    check(wanted, content.size());

    aio_context_t context = 0;
    sys(::syscall(SYS_io_setup, ring.nr_req, &context), "set up asynchronous I/O for {} requests", ring.nr_req);
    const std::span<std::byte> made(reinterpret_cast<std::byte*>(context), content.size());
    const std::uint32_t events = readHead(made.first(sizeof(RingHead))).events;
    if (events != wanted.events)
        fail("the kernel makes rings of {} events for {} requests here, not of {} (it has more processors)", events,
             ring.nr_req, wanted.events);
    RingPositionSetter winder(context, events);
    winder.turn(wanted.head);
    winder.fill((wanted.tail + events - wanted.head) % events);
    const RingHead now = readHead(made.first(sizeof(RingHead)));
    if (now.head != wanted.head || now.tail != wanted.tail)
        fail("the ring is at {} and {} instead of {} and {}", now.head, now.tail, wanted.head, wanted.tail);
    const auto results = content.subspan(sizeof(RingHead));
    std::copy(results.begin(), results.end(), made.begin() + sizeof(RingHead));
    return {context, context + content.size()};
}

}  // namespace criu::memory
