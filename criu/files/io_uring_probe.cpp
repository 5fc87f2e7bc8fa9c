// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/io_uring_probe.hpp"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/kernel/proc/procdir.hpp"

namespace criu::files {
namespace {

/// Makes a registration request to the ring with the unreadable address kNowhere. Returns an errno value.
int askHere(int ring, unsigned request) noexcept {
    return -kernel::registerIoUring(ring, request, reinterpret_cast<const void*>(kNowhere), 1);
}

/// Scope in which a counter of the ring has a changed value, so that fdinfo shows an entry that was taken before.
class RingCounterProbe {
public:
    RingCounterProbe(std::uint32_t& counter, std::uint32_t value) : counter_(counter), before_(counter) {
        __atomic_store_n(&counter_, value, __ATOMIC_SEQ_CST);
    }
    ~RingCounterProbe() { __atomic_store_n(&counter_, before_, __ATOMIC_SEQ_CST); }
    RingCounterProbe(const RingCounterProbe&) = delete;
    RingCounterProbe& operator=(const RingCounterProbe&) = delete;

private:
    std::uint32_t& counter_;
    std::uint32_t before_;
};

kernel::IoUringInfo infoOf(int ring) {
    kernel::ProcBuffer buffer;
    return kernel::parseIoUring(kernel::ProcDir().self().read(fmt::format("fdinfo/{}", ring), buffer));
}

ProtobufCBinaryData copyOf(std::span<const std::byte> bytes, Arena& arena) {
    return {bytes.size(), arena.copy(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()))};
}

}  // namespace

bool belongsToAnother(int ring) noexcept {
    return askHere(ring, IORING_REGISTER_FILES_UPDATE2) == EEXIST;
}

RingAnswers askRing(const std::function<int(unsigned request)>& ask) {
    RingAnswers answers;
    answers.files = ask(IORING_REGISTER_FILES_UPDATE2);
    answers.polling = ask(kernel::kIoUringNapi);
    answers.memoryRegion = ask(kernel::kIoUringMemoryRegion);
    // If an eventfd is registered, the kernel returns EBUSY before it reads the argument.
    answers.eventFd = ask(IORING_REGISTER_EVENTFD);
    return answers;
}

bool reportsBufferGroups() {
    io_uring_params parameters{};
    const UniqueFd plain = kernel::createIoUring(1, parameters);
    // Before Linux 6.8, the kernel returns EINVAL for this unknown request. A later kernel returns ENOENT, because a
    // new ring has no group.
    const BufferGroupStatus status;
    return -kernel::registerIoUring(plain.get(), kernel::kIoUringBufferGroup, &status, 1) == ENOENT;
}

IoUringProbe::IoUringProbe(int ring, const kernel::IoUringInfo& info, const RingAnswers* owners)
    : ring_(ring), info_(info), owners_(owners) {
    findSizes();
}

io_uring_params IoUringProbe::alike(std::uint32_t flags) const {
    io_uring_params parameters{};
    parameters.flags = flags | IORING_SETUP_CQSIZE;
    parameters.cq_entries = info_.cqMask + 1;
    const UniqueFd other = kernel::createIoUring(info_.sqMask + 1, parameters);
    if (parameters.sq_entries != info_.sqMask + 1 || parameters.cq_entries != info_.cqMask + 1)
        fail("an io_uring of {} and {} entries can't be made", info_.sqMask + 1, info_.cqMask + 1);
    return parameters;
}

std::optional<std::uint32_t> IoUringProbe::firstIndex(const io_uring_params& parameters) const {
    // The memory of a ring without an index array may end before this address. So reads by process_vm_readv(2), which
    // then fails; a direct read would raise SIGBUS.
    const kernel::IoUringMemory memory(ring_, parameters);
    std::uint32_t value = 0;
    const iovec local{&value, sizeof(value)};
    const iovec remote{&memory.sqArray()[shownRequest() & info_.sqMask], sizeof(value)};
    if (::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0) != sizeof(value))
        return std::nullopt;
    return value;
}

std::uint32_t IoUringProbe::shownRequest() const noexcept {
    return info_.sqTail == info_.sqTaken ? info_.sqTaken - 1 : info_.sqTaken;
}

void IoUringProbe::findSizes() {
    {
        const kernel::IoUringMemory memory(ring_, alike(0));
        if (memory.sqHead() != info_.sqTaken || memory.cqTail() != info_.cqPosted) {
            doubt_ = "whose memory isn't where it is expected";
            return;
        }
        std::optional<RingCounterProbe> nudge;
        if (info_.cqShown == 0)
            nudge.emplace(memory.cqHead(), info_.cqPosted - 1);
        if (infoOf(ring_).cqLarge)
            flags_ |= IORING_SETUP_CQE32;
    }
    const io_uring_params parameters = alike(flags_);
    const auto index = firstIndex(parameters);
    if (index && *index > info_.sqMask) {
        doubt_ = "with an index outside the array of requests";
        return;
    }
    const kernel::IoUringMemory memory(ring_, parameters);
    std::optional<RingCounterProbe> nudge;
    // Changes the counter that only the kernel writes: a kernel thread submits requests up to the other counter.
    if (info_.sqTail == info_.sqTaken)
        nudge.emplace(memory.sqHead(), shownRequest());
    const kernel::IoUringInfo shown = infoOf(ring_);
    if (shown.sqShown == 0)
        flags_ |= kernel::kIoUringNoArray;
    else if (shown.sqLarge)
        flags_ |= IORING_SETUP_SQE128;
}

std::string IoUringProbe::whatCantBeCarried() {
    if (!doubt_.empty())
        return doubt_;
    if (::syscall(SYS_io_uring_enter, ring_, 0, 0, 0, nullptr, 0) < 0)
        return errno == EOWNERDEAD ? "whose kernel thread (IORING_SETUP_SQPOLL) has ended with its process"
                                   : "that isn't enabled yet (IORING_SETUP_R_DISABLED)";
    if (!belongsToAnother(ring_)) {
        answers_ = askRing([this](unsigned request) { return askHere(ring_, request); });
        answers_.bufferGroup = firstBufferGroup();
    } else if (owners_ != nullptr) {
        answers_ = *owners_;
    } else {
        return "that belongs to one of its threads (IORING_SETUP_SINGLE_ISSUER), which isn't to be found";
    }
    // Makes a ring without setup flags. Its results are those of this kernel for an ordinary ring.
    io_uring_params parameters{};
    const UniqueFd plain = kernel::createIoUring(1, parameters);
    const RingAnswers usual = askRing([&plain](unsigned request) { return askHere(plain.get(), request); });
    if (answers_.files == EACCES || answers_.polling == EACCES)
        return "with restrictions";
    if (answers_.polling != usual.polling)
        return "that polls for completions (IORING_SETUP_IOPOLL)";
    if (answers_.memoryRegion != usual.memoryRegion)
        return "with a registered region of memory";
    if (answers_.bufferGroup)
        return fmt::format("with a group of provided buffers ({})", *answers_.bufferGroup);
    if (answers_.eventFd != EBUSY && answers_.eventFd != usual.eventFd)
        failWith(answers_.eventFd, "ask an io_uring for its eventfd");
    return {};
}

std::optional<std::uint32_t> IoUringProbe::firstBufferGroup() const {
    BufferGroupStatus status;
    for (bool tells = reportsBufferGroups(); tells && status.group < kBufferGroups; ++status.group) {
        if (-kernel::registerIoUring(ring_, kernel::kIoUringBufferGroup, &status, 1) != ENOENT)
            return status.group;
    }
    return std::nullopt;
}

bool IoUringProbe::hasEventFd() const noexcept {
    return answers_.eventFd == EBUSY;
}

void IoUringProbe::store(IoUringEntry& out, Arena& arena) const {
    const io_uring_params parameters = alike(flags_);
    const kernel::IoUringMemory memory(ring_, parameters);
    out.setup_flags = flags_;
    out.sq_entries = parameters.sq_entries;
    out.cq_entries = parameters.cq_entries;
    out.sq_head = memory.sqHead();
    out.sq_tail = memory.sqTail();
    out.cq_head = memory.cqHead();
    out.cq_tail = memory.cqTail();
    out.cq_flags = memory.cqFlags();
    out.sq_array = copyOf(std::as_bytes(memory.sqArray()), arena);
    out.requests = copyOf(memory.requests(), arena);
    out.completions = copyOf(memory.completions(), arena);
    if (memory.dropped() != 0 || memory.overflowed() != 0)
        fail("an io_uring has dropped {} requests and {} completions, which can't be dumped", memory.dropped(),
             memory.overflowed());
}

}  // namespace criu::files
