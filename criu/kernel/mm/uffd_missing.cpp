// SPDX-License-Identifier: GPL-2.0-only
#include "criu/kernel/mm/uffd_missing.hpp"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>

#include "criu/base/error.hpp"

namespace criu::kernel {
namespace {

constexpr std::uint64_t kAllEvents =
    UFFD_FEATURE_EVENT_FORK | UFFD_FEATURE_EVENT_REMAP | UFFD_FEATURE_EVENT_REMOVE | UFFD_FEATURE_EVENT_UNMAP;

UffdEvent eventOf(const uffd_msg& message) {
    using Kind = UffdEvent::Kind;
    UffdEvent event;
    switch (message.event) {
        case UFFD_EVENT_PAGEFAULT:
            event.kind = Kind::Fault;
            event.start = message.arg.pagefault.address;
            return event;
        case UFFD_EVENT_FORK:
            event.kind = Kind::Fork;
            event.child.reset(static_cast<int>(message.arg.fork.ufd));
            return event;
        case UFFD_EVENT_REMAP:
            event.kind = Kind::Move;
            event.start = message.arg.remap.from;
            event.target = message.arg.remap.to;
            event.bytes = message.arg.remap.len;
            return event;
        case UFFD_EVENT_REMOVE:
        case UFFD_EVENT_UNMAP:
            event.kind = message.event == UFFD_EVENT_REMOVE ? Kind::Remove : Kind::Unmap;
            event.start = message.arg.remove.start;
            event.bytes = message.arg.remove.end - message.arg.remove.start;
            return event;
        default:
            fail("userfaultfd: an event of the unknown kind {:#x}", static_cast<unsigned>(message.event));
    }
}

/// Returns the result of a userfaultfd request. `done`: output of the kernel: the number of transferred bytes, or a
/// negative errno if no byte was transferred.
Supplied resultOf(int returned, std::int64_t done) noexcept {
    if (returned == 0)
        return {static_cast<std::uint64_t>(done), 0};
    const int code = errno;
    // The kernel returns EAGAIN after a partial transfer. The next request then returns the cause.
    if (done > 0)
        return {static_cast<std::uint64_t>(done), EAGAIN};
    return {0, code};
}

int enable(int userfaultfd, std::uint64_t features) noexcept {
    uffdio_api api{};
    api.api = UFFD_API;
    api.features = features;
    return ::ioctl(userfaultfd, UFFDIO_API, &api) == 0 ? 0 : errno;
}

int registerFor(std::uint64_t mode, int userfaultfd, std::uint64_t start, std::uint64_t bytes) noexcept {
    uffdio_register area{};
    area.range = {start, bytes};
    area.mode = mode;
    return ::ioctl(userfaultfd, UFFDIO_REGISTER, &area) == 0 ? 0 : errno;
}

}  // namespace

int uffdMissingFlags() noexcept {
    return O_CLOEXEC | O_NONBLOCK;
}

int enableUffdMissing(int userfaultfd) noexcept {
    return enable(userfaultfd, kAllEvents);
}

int probeUffdMissing() noexcept {
    const UniqueFd fd(static_cast<int>(::syscall(SYS_userfaultfd, uffdMissingFlags())));
    return fd ? enableUffdMissing(fd.get()) : errno;
}

int enableUffdMinor(int userfaultfd) noexcept {
    return enable(userfaultfd, kAllEvents | UFFD_FEATURE_MISSING_SHMEM | UFFD_FEATURE_MINOR_SHMEM);
}

int probeUffdMinor() noexcept {
    const UniqueFd fd(static_cast<int>(::syscall(SYS_userfaultfd, uffdMissingFlags())));
    return fd ? enableUffdMinor(fd.get()) : errno;
}

UniqueFd openUffdFill() noexcept {
    UniqueFd fd(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY)));
    if (fd && enable(fd.get(), 0) != 0)
        fd.reset();
    return fd;
}

int registerUffdMissing(int userfaultfd, std::uint64_t start, std::uint64_t bytes) noexcept {
    return registerFor(UFFDIO_REGISTER_MODE_MISSING, userfaultfd, start, bytes);
}

int registerUffdMinor(int userfaultfd, std::uint64_t start, std::uint64_t bytes) noexcept {
    return registerFor(UFFDIO_REGISTER_MODE_MISSING | UFFDIO_REGISTER_MODE_MINOR, userfaultfd, start, bytes);
}

std::vector<UffdEvent> readUffdEvents(int userfaultfd) {
    std::array<uffd_msg, 32> messages{};
    ssize_t got;
    do {
        got = ::read(userfaultfd, messages.data(), sizeof(messages));
    } while (got < 0 && errno == EINTR);
    if (got < 0 && errno == EAGAIN)
        return {};
    sys(got, "read events of memory");
    std::vector<UffdEvent> events;
    for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof(uffd_msg); ++i)
        events.push_back(eventOf(messages[i]));
    return events;
}

Supplied uffdCopy(int userfaultfd, std::uint64_t at, std::span<const std::byte> content) noexcept {
    uffdio_copy copy{};
    copy.dst = at;
    copy.src = reinterpret_cast<std::uint64_t>(content.data());
    copy.len = content.size();
    const int returned = ::ioctl(userfaultfd, UFFDIO_COPY, &copy);
    return resultOf(returned, copy.copy);
}

Supplied uffdZeropage(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept {
    uffdio_zeropage zero{};
    zero.range = {at, bytes};
    const int returned = ::ioctl(userfaultfd, UFFDIO_ZEROPAGE, &zero);
    return resultOf(returned, zero.zeropage);
}

Supplied uffdContinue(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept {
    uffdio_continue request{};
    request.range = {at, bytes};
    const int returned = ::ioctl(userfaultfd, UFFDIO_CONTINUE, &request);
    return resultOf(returned, request.mapped);
}

void uffdWake(int userfaultfd, std::uint64_t at, std::uint64_t bytes) noexcept {
    uffdio_range range{at, bytes};
    // Ignores errors: the call fails only for a range that doesn't consist of complete pages of user space. A mapping
    // isn't necessary.
    ::ioctl(userfaultfd, UFFDIO_WAKE, &range);
}

}  // namespace criu::kernel
