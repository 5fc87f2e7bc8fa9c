// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include "criu/base/error.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/io_uring.hpp"
#include "criu/files/memory_registrar.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/files/polled_ring.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/io_uring.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/io-uring.hpp"

namespace criu::files {
namespace {

/// Setup flags that a restore sets as dumped, because they change the layout of the shared memory. Other flags have no
/// effect on a restored ring.
///
/// The kernel doesn't show IORING_SETUP_SUBMIT_ALL. Without this flag, a failed request prevents the submission of the
/// requests after it. A restore always sets the flag, so that the ring submits all requests.
constexpr std::uint32_t kThreadFlags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF;
constexpr std::uint32_t kCarriedFlags =
    IORING_SETUP_SQE128 | IORING_SETUP_CQE32 | kernel::kIoUringNoArray | kThreadFlags;
constexpr std::uint32_t kAlwaysSet = IORING_SETUP_CQSIZE | IORING_SETUP_SUBMIT_ALL;
constexpr std::uint32_t kMostSlots = 1U << 20;

void copyTo(std::span<std::byte> to, const ProtobufCBinaryData& from, std::string_view what) {
    if (from.len != to.size())
        fail("the image has {} bytes of {} of an io_uring instead of {}", from.len, what, to.size());
    if (from.len != 0)
        std::memcpy(to.data(), from.data, from.len);
}

/// Waits until a kernel thread has taken the requests of a ring up to the counter `taken`, and has posted as many
/// completions. Throws Error after a minute.
void awaitThread(int ring, const kernel::IoUringMemory& memory, std::uint32_t taken) {
    constexpr int kYields = 200;
    constexpr std::chrono::microseconds kPause{20};
    constexpr std::chrono::minutes kMost{1};
    using Clock = std::chrono::steady_clock;
    const auto load = [](const std::uint32_t& counter) { return __atomic_load_n(&counter, __ATOMIC_ACQUIRE); };
    const auto begin = Clock::now();
    for (int tries = 0; load(memory.sqHead()) != taken || load(memory.cqTail()) != taken; ++tries) {
        // The thread may fall asleep at any time.
        sys(::syscall(SYS_io_uring_enter, ring, 0, 0, IORING_ENTER_SQ_WAKEUP, nullptr, 0),
            "wake the kernel thread of a new io_uring");
        if (tries < kYields) {
            ::sched_yield();
            continue;
        }
        if (Clock::now() - begin > kMost)
            fail("the kernel thread of a new io_uring has taken {} requests instead of {}", load(memory.sqHead()),
                 taken);
        std::this_thread::sleep_for(kPause);
    }
}

class RestoredIoUring final : public RestoredFile, public MemoryRegistrar, public PolledRing {
public:
    explicit RestoredIoUring(const IoUringEntry& entry) : entry_(entry) {
        if (entry.sq_head != entry.cq_tail || entry.sq_head > kMostIoUringRequests ||
            entry.cq_tail - entry.cq_head > entry.cq_entries || entry.sq_tail - entry.sq_head > entry.sq_entries ||
            (entry.setup_flags & ~kCarriedFlags) != 0 || entry.file_slots > kMostSlots ||
            entry.buffer_slots > kMostSlots || !hasFittingThread())
            fail("io_uring {} has counters {} to {} and {} to {}, flags {:#x}, which don't fit together", entry.id,
                 entry.sq_head, entry.sq_tail, entry.cq_head, entry.cq_tail, entry.setup_flags);
        for (const IoUringFile* const file : list(entry.files, entry.n_files))
            requireSlot(file->slot, entry.file_slots);
        for (const IoUringBuffer* const buffer : list(entry.buffers, entry.n_buffers))
            requireSlot(buffer->slot, entry.buffer_slots);
    }

    [[nodiscard]] std::string describe() const override { return fmt::format("io_uring {}", entry_.id); }

    void open(FileOpener& opener) override {
        if (polled()) {
            opener.provide(FileId{entry_.id}, UniqueFd(sys(::eventfd(0, EFD_CLOEXEC), "create a placeholder")));
            return;
        }
        io_uring_params wanted = parameters();
        UniqueFd ring = kernel::createIoUring(entry_.sq_entries, wanted);
        fill(ring.get(), wanted);
        opener.provide(FileId{entry_.id}, std::move(ring));
    }

    void complete(PlacedFiles& files) override {
        if (polled())
            return;
        const int ring = files.find(FileId{entry_.id});
        if (ring < 0)
            fail("io_uring {} isn't among the descriptors of the process", entry_.id);
        std::vector<UniqueFd> fetched;
        const auto find = [&](std::uint32_t id) {
            if (const int fd = files.find(FileId{id}); fd >= 0)
                return fd;
            return fetched.emplace_back(files.fetch(FileId{id})).get();
        };
        if (entry_.file_slots != 0) {
            std::vector<int> all(entry_.file_slots, -1);
            for (const IoUringFile* const file : list(entry_.files, entry_.n_files))
                all[file->slot] = find(file->file_id);
            require(kernel::registerIoUring(ring, IORING_REGISTER_FILES, all.data(), entry_.file_slots),
                    "files with an io_uring");
        }
        if (entry_.has_eventfd_id != 0) {
            const int eventFd = find(entry_.eventfd_id);
            require(kernel::registerIoUring(ring, IORING_REGISTER_EVENTFD, &eventFd, 1), "an eventfd with an io_uring");
        }
    }

    [[nodiscard]] const MemoryRegistrar* asMemoryRegistrar() const override {
        return entry_.buffer_slots != 0 && !polled() ? this : nullptr;
    }
    [[nodiscard]] const PolledRing* asPolledRing() const override { return polled() ? this : nullptr; }
    [[nodiscard]] FileId registrar() const override { return FileId{entry_.id}; }

    void addMemorySteps(int fd, pie::StepList& steps, pie::RemoteData& data) const override {
        addBufferSteps(fd, steps, data);
    }

    void addBufferSteps(int fd, pie::StepList& steps, pie::RemoteData& data) const override {
        if (entry_.buffer_slots == 0)
            return;
        std::vector<iovec> all(entry_.buffer_slots);
        for (const IoUringBuffer* const buffer : list(entry_.buffers, entry_.n_buffers))
            all[buffer->slot] = {reinterpret_cast<void*>(buffer->address), buffer->size};
        steps.call(pie::Subject::AsyncIo, entry_.id, SYS_io_uring_register, fd, IORING_REGISTER_BUFFERS,
                   data.put(std::as_bytes(std::span(all))), all.size());
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

    [[nodiscard]] FileId id() const override { return FileId{entry_.id}; }
    [[nodiscard]] FileId threadOwner() const override { return FileId{entry_.thread->ring}; }
    [[nodiscard]] std::uint32_t entries() const override { return entry_.sq_entries; }

    [[nodiscard]] io_uring_params parameters() const override {
        io_uring_params wanted{};
        wanted.flags = entry_.setup_flags | kAlwaysSet;
        wanted.cq_entries = entry_.cq_entries;
        if ((entry_.setup_flags & IORING_SETUP_SQ_AFF) != 0)
            wanted.sq_thread_cpu = entry_.thread->cpu;
        return wanted;
    }

    void fill(int ring, const io_uring_params& made) const override {
        if (made.sq_entries != entry_.sq_entries || made.cq_entries != entry_.cq_entries)
            fail("io_uring {} can't have {} and {} entries", entry_.id, entry_.sq_entries, entry_.cq_entries);
        {
            const kernel::IoUringMemory memory(ring, made);
            advance(ring, memory);
            copyContent(memory);
        }
        sys(::fcntl(ring, F_SETFL, static_cast<int>(entry_.flags)), "set flags {:#o} of an io_uring", entry_.flags);
    }

    [[nodiscard]] std::vector<FileId> registeredFiles() const override {
        std::vector<FileId> all(entry_.file_slots);
        for (const IoUringFile* const file : list(entry_.files, entry_.n_files))
            all[file->slot] = FileId{file->file_id};
        return all;
    }

    [[nodiscard]] std::optional<FileId> eventFd() const override {
        return entry_.has_eventfd_id != 0 ? std::optional(FileId{entry_.eventfd_id}) : std::nullopt;
    }

private:
    [[nodiscard]] bool polled() const noexcept { return (entry_.setup_flags & IORING_SETUP_SQPOLL) != 0; }

    /// Returns true if the image has a kernel thread exactly if the flags require one. The thread would submit requests
    /// before the restore is committed. A restore waits for the thread once for each full completion queue (advance()).
    [[nodiscard]] bool hasFittingThread() const noexcept {
        const bool bound = (entry_.setup_flags & IORING_SETUP_SQ_AFF) != 0;
        if (!polled())
            return entry_.thread == nullptr && !bound;
        return entry_.thread != nullptr && bound == (entry_.thread->has_cpu != 0) && entry_.sq_tail == entry_.sq_head &&
               entry_.cq_entries != 0 && entry_.sq_head / entry_.cq_entries <= kMostThreadRounds;
    }

    static void requireSlot(std::uint32_t slot, std::uint32_t count) {
        if (slot >= count)
            fail("an io_uring has something registered at {} of {}", slot, count);
    }

    static void require(int result, std::string_view what) {
        if (result < 0)
            failWith(-result, "register {}", what);
    }

    /// Advances the kernel's private counters by submitting zeroed requests (IORING_OP_NOP), because no call sets these
    /// counters. During this, the program's head of the completion queue must never exceed its final value. The kernel
    /// derives the number of free entries from this head, and caches the number.
    void advance(int ring, const kernel::IoUringMemory& memory) const {
        const std::span<std::uint32_t> array = memory.sqArray();
        for (std::size_t i = 0; i < array.size(); ++i)
            array[i] = static_cast<std::uint32_t>(i);
        // A kernel thread takes up to as many requests at once as the ring has, until it reaches the program's counter.
        const std::uint32_t most = polled() ? entry_.cq_entries : entry_.sq_entries;
        for (std::uint32_t done = 0; done < entry_.sq_head;) {
            const std::uint32_t count = std::min(most, entry_.sq_head - done);
            __atomic_store_n(&memory.cqHead(), std::min(done, entry_.cq_head), __ATOMIC_RELEASE);
            __atomic_store_n(&memory.sqTail(), done + count, __ATOMIC_RELEASE);
            done += count;
            if (polled()) {
                awaitThread(ring, memory, done);
                continue;
            }
            const long taken = sys(::syscall(SYS_io_uring_enter, ring, count, 0, 0, nullptr, 0),
                                   "submit {} requests to a new io_uring", count);
            if (taken != static_cast<long>(count))
                fail("a new io_uring has taken {} of {} requests", taken, count);
        }
        __atomic_store_n(&memory.cqHead(), entry_.cq_head, __ATOMIC_RELEASE);
        if (memory.sqHead() != entry_.sq_head || memory.cqTail() != entry_.cq_tail)
            fail("a new io_uring counts {} requests and {} completions instead of {}", memory.sqHead(), memory.cqTail(),
                 entry_.sq_head);
    }

    void copyContent(const kernel::IoUringMemory& memory) const {
        copyTo(std::as_writable_bytes(memory.sqArray()), entry_.sq_array, "indices");
        copyTo(memory.requests(), entry_.requests, "requests");
        copyTo(memory.completions(), entry_.completions, "completions");
        memory.cqFlags() = entry_.cq_flags;
        __atomic_store_n(&memory.sqTail(), entry_.sq_tail, __ATOMIC_RELEASE);
    }

    const IoUringEntry& entry_;
};

}  // namespace

std::shared_ptr<RestoredFile> makeRestoredIoUring(const IoUringEntry& entry) {
    return std::make_shared<RestoredIoUring>(entry);
}

}  // namespace criu::files
