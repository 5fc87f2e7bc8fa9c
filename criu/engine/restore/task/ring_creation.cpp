// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/ring_creation.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <compel/injection.hpp>
#include <compel/remote_memory.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <cerrno>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/files/epoll_target.hpp"
#include "criu/files/polled_ring.hpp"
#include "criu/files/user_limit.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/mm/maps.hpp"
#include "criu/kernel/namespace_visit.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/memory/mappings/ring_mappings.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/step_results.hpp"
#include "images/core.hpp"
#include "images/eventpoll.hpp"
#include "images/fdinfo.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

constexpr int kLaterLimits[] = {RLIMIT_AS, RLIMIT_NOFILE, RLIMIT_MEMLOCK};

std::uint64_t argument(int number) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
}

/// Returns the first descriptor of an open file description in a process.
const model::FdSlot& slotIn(const model::Task& task, FileId file) {
    const std::vector<model::FdSlot>& slots = task.files->slots;
    const auto found =
        std::find_if(slots.begin(), slots.end(), [file](const model::FdSlot& slot) { return slot.file == file; });
    if (found == slots.end())
        fail("the process has no descriptor of file {}", file);
    return *found;
}

/// Adds a ring to an epoll file. The kernel identifies a target by its descriptor number in the calling process, too
/// (epoll(7)). So a thread of criu makes the call, with the ring at this number of a descriptor table of its own.
void addTo(const WatchedRing& watched, pid_t process, int ring) {
    kernel::runInThread([&] {
        const int number = files::numberOfTarget(*watched.target);
        sys(::unshare(CLONE_FILES), "create a descriptor table for an epoll target");
        int epoll = kernel::PidFd(watched.holder).getFd(watched.epoll).release();
        const int target = kernel::PidFd(process).getFd(ring).release();
        if (epoll == number)
            epoll = sys(::fcntl(epoll, F_DUPFD_CLOEXEC, 0), "copy the descriptor of an epoll file");
        if (target != number)
            sys(::dup3(target, number, O_CLOEXEC), "put an io_uring at its number {} in an epoll file", number);
        epoll_event event{};
        event.events = watched.target->events;
        event.data.u64 = watched.target->data;
        const int result = ::epoll_ctl(epoll, EPOLL_CTL_ADD, number, &event);
        const int code = errno;
        // Closes criu's files at once, because the kernel does so only some time after the end of the thread.
        (void)::close_range(0, ~0U, 0);
        if (result != 0)
            files::failAtLimit(code, ENOSPC, "add an io_uring to an epoll file", "fs.epoll.max_user_watches");
    });
}

/// Creation of the rings of one process.
class Creation {
public:
    Creation(const RingCreation& plan, compel::FrozenProcess& process, const compel::InjectedMemory& area)
        : plan_(plan),
          slots_(plan.task.files->slots),
          process_(process),
          calls_(process.leader(), compel::syscallInstructionIn(pie::interpreterBlob(), area.code)),
          scratch_(area.data) {}

    void createAll() {
        for (const files::PolledRing* const ring : plan_.rings) {
            const ErrorContext context([&] { return fmt::format("io_uring {}", ring->id()); });
            create(*ring);
            registerFiles(*ring);
            addToEpolls(*ring);
        }
        calls_.restore();
    }

private:
    [[nodiscard]] const model::FdSlot& slotOf(FileId file) const { return slotIn(plan_.task, file); }

    template <typename T>
    void write(const T& value) const {
        compel::RemoteMemory(process_.leader().tid()).write(scratch_, std::as_bytes(std::span(&value, 1)));
    }

    /// Creates the ring and puts it at all its descriptor numbers. Closes the placeholder first, so that the kernel has
    /// a free number below the limit of the process.
    void create(const files::PolledRing& ring) {
        const model::FdSlot& first = slotOf(ring.id());
        calls_.checkedCall("close a placeholder", SYS_close, {argument(first.fd)});
        io_uring_params parameters = ring.parameters();
        if (ring.threadOwner() != ring.id()) {
            parameters.flags |= IORING_SETUP_ATTACH_WQ;
            parameters.wq_fd = static_cast<std::uint32_t>(slotOf(ring.threadOwner()).fd);
        }
        std::int64_t made = setUp(ring, parameters);
        if (made == -EINVAL && (parameters.flags & IORING_SETUP_SQ_AFF) != 0) {
            plan_.log.warn("The kernel thread of an io_uring can't run on processor {} only", parameters.sq_thread_cpu);
            parameters.flags &= ~static_cast<std::uint32_t>(IORING_SETUP_SQ_AFF);
            made = setUp(ring, parameters);
        }
        if (compel::isSyscallError(made)) {
            Error error(static_cast<int>(-made), "create an io_uring with a kernel thread (IORING_SETUP_SQPOLL)");
            error.addHint("see the sysctl kernel.io_uring_disabled, and the limit of processes of the user");
            throw error;
        }
        compel::RemoteMemory(process_.leader().tid()).read(scratch_, std::as_writable_bytes(std::span(&parameters, 1)));
        place(ring.id(), static_cast<int>(made));
        ring.fill(kernel::PidFd(process_.pid()).getFd(first.fd).get(), parameters);
    }

    std::int64_t setUp(const files::PolledRing& ring, const io_uring_params& parameters) {
        write(parameters);
        return calls_.call(SYS_io_uring_setup, ring.entries(), scratch_);
    }

    void place(FileId file, int made) {
        bool stays = false;
        for (const model::FdSlot& slot : slots_) {
            if (slot.file != file)
                continue;
            stays = stays || slot.fd == made;
            if (slot.fd == made)
                calls_.checkedCall("set close-on-exec of an io_uring", SYS_fcntl,
                                   {argument(made), F_SETFD, slot.closeOnExec ? argument(FD_CLOEXEC) : 0});
            else
                calls_.checkedCall("put an io_uring at its descriptor", SYS_dup3,
                                   {argument(made), argument(slot.fd), slot.closeOnExec ? argument(O_CLOEXEC) : 0});
        }
        if (!stays)
            calls_.checkedCall("close an io_uring", SYS_close, {argument(made)});
    }

    void registerFiles(const files::PolledRing& ring) {
        const int fd = slotOf(ring.id()).fd;
        if (const std::vector<FileId> files = ring.registeredFiles(); !files.empty()) {
            std::vector<int> numbers;
            numbers.reserve(files.size());
            for (const FileId file : files)
                numbers.push_back(file == FileId() ? -1 : slotOf(file).fd);
            const compel::RemoteBuffer room(calls_, numbers.size() * sizeof(numbers[0]));
            compel::RemoteMemory(process_.leader().tid()).write(room.address(), std::as_bytes(std::span(numbers)));
            calls_.checkedCall("register files with an io_uring", SYS_io_uring_register,
                               {argument(fd), IORING_REGISTER_FILES, room.address(), numbers.size()});
        }
        if (const auto eventFd = ring.eventFd()) {
            const int number = slotOf(*eventFd).fd;
            write(number);
            calls_.checkedCall("register an eventfd with an io_uring", SYS_io_uring_register,
                               {argument(fd), IORING_REGISTER_EVENTFD, scratch_, 1});
        }
    }

    /// Adds the ring to the epoll files that had it. They had the placeholder, which is closed.
    void addToEpolls(const files::PolledRing& ring) const {
        for (const WatchedRing& watched : plan_.watched)
            if (watched.ring == ring.id())
                addTo(watched, process_.pid(), slotOf(ring.id()).fd);
    }

    const RingCreation& plan_;
    const std::vector<model::FdSlot>& slots_;
    compel::FrozenProcess& process_;
    compel::RemoteSyscalls calls_;
    std::uint64_t scratch_;  ///< address of memory of the restorer for arguments
};

}  // namespace

std::uint32_t ringLimits() noexcept {
    std::uint32_t mask = 0;
    for (const int limit : kLaterLimits)
        mask |= 1U << static_cast<unsigned>(limit);
    return mask;
}

void createRings(const RingCreation& plan, compel::FrozenProcess& process, compel::Injection& injection,
                 const compel::InjectedMemory& area) {
    Creation(plan, process, area).createAll();
    memory::RangeSet taken;
    for (const kernel::Vma& vma : kernel::readMaps(kernel::ProcDir().open(process.pid())))
        taken.add({vma.start, vma.end});
    std::vector<memory::RingMapping> mappings;
    for (const VmaEntry* const vma : list((**plan.task.mm).vmas, (**plan.task.mm).n_vmas))
        for (const files::PolledRing* const ring : plan.rings)
            if (memory::is(*vma, memory::VmaStatus::IoUring) && vma->shmid == ring->id().value)
                mappings.push_back({vma, slotIn(plan.task, ring->id()).fd});
    pie::StepList steps;
    pie::RemoteData data(injection.data());
    memory::addIoUringSteps(mappings, taken, steps);
    for (const files::PolledRing* const ring : plan.rings)
        ring->addBufferSteps(slotIn(plan.task, ring->id()).fd, steps, data);
    for (const int limit : kLaterLimits)
        task::restoreLimit(*plan.task.core().tc, plan.limits, limit, steps, data);
    runProgram(injection, steps, data, process.leader());
}

}  // namespace criu::engine
