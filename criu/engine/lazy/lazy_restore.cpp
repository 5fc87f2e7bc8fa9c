// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/lazy/lazy_restore.hpp"

#include <sys/syscall.h>

#include <compel/error.hpp>
#include <compel/injection.hpp>
#include <compel/process.hpp>
#include <compel/remote_syscalls.hpp>

#include <algorithm>
#include <cstring>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/clones/shared_pages_link.hpp"
#include "criu/engine/lazy/lazy_link.hpp"
#include "criu/engine/local_channel.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/kernel/fd_store.hpp"
#include "criu/kernel/mm/uffd_missing.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/memory/clones/clone_file.hpp"
#include "criu/memory/lazy/lazy_areas.hpp"
#include "criu/memory/pages/page_source.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/enter.hpp"
#include "criu/task/registers.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

using memory::PageJob;
using memory::Range;

std::uint64_t stackPointerOf(const CoreEntry& core) {
    compel::Registers registers;
    const std::vector<std::byte> general = task::loadRegisters(core).general;
    std::memcpy(&registers.raw, general.data(), std::min(general.size(), sizeof(registers.raw)));
    return registers.sp();
}

template <typename Matches>
bool anyJob(const memory::PageSource& pages, Matches&& matches) {
    bool found = false;
    pages.forEach(0, pages.end(), [&](const PageJob& job) { found = found || matches(job); });
    return found;
}

bool isMissingLazy(const PageJob& job) noexcept {
    return job.state == PageJob::State::Lazy;
}

/// Returns true if the process has rings. Such a process has no lazy pages: the kernel pins memory for rings before
/// criu registers this memory with a userfaultfd.
bool hasIoUring(const model::Task& task) {
    const auto& slots = task.files->slots;
    return std::any_of(slots.begin(), slots.end(),
                       [](const model::FdSlot& slot) { return slot.type == FD_TYPES__IO_URING; });
}

memory::EagerMemory touchedBy(const model::Task& task) {
    memory::EagerMemory touched(**task.mm);
    for (const model::Thread& thread : task.threads) {
        const CoreEntry& core = **thread.core;
        if (task::hasRegisters(core))
            touched.addStack(stackPointerOf(core));
        if (const RseqEntry* const rseq = core.thread_core->rseq_entry; rseq != nullptr)
            touched.addRseq(rseq->rseq_abi_pointer, rseq->rseq_abi_size);
    }
    return touched;
}

/// Makes a frozen process create a userfaultfd, gets a copy of the descriptor, and closes the descriptor in the
/// process.
UniqueFd makeInside(compel::FrozenProcess& process, const compel::InjectedMemory& area) {
    compel::RemoteSyscalls calls(process.leader(), compel::syscallInstructionIn(pie::interpreterBlob(), area.code));
    const int number = static_cast<int>(calls.checkedCall("make a userfaultfd", SYS_userfaultfd,
                                                          {static_cast<std::uint64_t>(kernel::uffdMissingFlags())}));
    UniqueFd fd = kernel::PidFd(process.pid()).getFd(number);
    calls.checkedCall("close it", SYS_close, {static_cast<std::uint64_t>(number)});
    calls.restore();
    return fd;
}

/// Throws Error if the kernel doesn't let the processes create a userfaultfd in minor mode, because a shared-pages
/// daemon needs such a userfaultfd. `ownUsers`: the processes are in a private user namespace.
void requireUffdMinor(bool ownUsers) {
    const int code = ownUsers ? EPERM : kernel::probeUffdMinor();
    if (code == 0)
        return;
    Error error(code, "--map-pages: the kernel denies these processes a userfaultfd in minor mode");
    error.addHint(ownUsers ? "they live in a user namespace of their own"
                           : "it takes Linux 5.14 with CONFIG_HAVE_ARCH_USERFAULTFD_MINOR, and CAP_SYS_PTRACE");
    throw error;
}

SharedPagesLink openSharedPages(const RestoreImages& images, const ImageDir& directory, const model::Options& options,
                                bool ownUsers, StopRequest& stop, Log& log) {
    requireAllPages(images);
    requireUffdMinor(ownUsers);
    return connectToSharedPages(images, directory, options, stop, log);
}

}  // namespace

memory::LazyAreas lazyAreasOf(const model::Task& task) {
    const MmEntry& mm = **task.mm;
    return {mm, touchedBy(task)};
}

memory::LazyAreas cloneAreasOf(const model::Task& task, const memory::PageSource& pages) {
    if (hasIoUring(task))
        return {};
    const std::vector<const VmaEntry*> mappings = memory::mappingsOfClones(**task.mm, pages);
    return {mappings, touchedBy(task)};
}

LazyRestore::LazyRestore(const RestoreImages& images, const model::Options& options, bool ownUsers, StopRequest& stop,
                         Log& log)
    : link_(LazyLink::connect(stop)), limit_(longWaitLimitOf(options, stop)), log_(log), images_(images) {
    int code = kernel::probeUffdMissing();
    if (code == 0 && ownUsers)
        code = EPERM;  // userfaultfd needs CAP_SYS_PTRACE in the initial user namespace
    possible_ = code == 0;
    if (possible_)
        return;
    try {
        requireAllPages(images);
    } catch (Error& error) {
        error.addHint(fmt::format("they can't come later: userfaultfd: {}", ::strerror(code)));
        throw;
    }
    log.warn("Pages can't come later (userfaultfd: {}): all are restored at once", ::strerror(code));
}

LazyRestore::LazyRestore(const RestoreImages& images, SharedPagesLink clones, const WaitLimit& limit, Log& log)
    : link_(std::move(clones.link)),
      limit_(limit),
      log_(log),
      images_(images),
      possible_(true),
      file_(std::move(clones.file)) {
    log.warn("Memory is mapped from the shared-pages daemon, which has to live as long as the restored processes do");
}

LazyRestore::LazyRestore(const RestoreImages& images, const ImageDir& directory, const model::Options& options,
                         bool ownUsers, StopRequest& stop, Log& log)
    : LazyRestore(images, openSharedPages(images, directory, options, ownUsers, stop, log),
                  longWaitLimitOf(options, stop), log) {}

std::size_t LazyRestore::descriptors() const noexcept {
    return file_ ? 1 : 0;
}

void LazyRestore::share(kernel::FdStore& store) {
    if (file_)
        file_ = store.inherit(kernel::FdKey::SharedMemory, std::move(file_));
}

std::optional<memory::CloneFile> LazyRestore::fileOf(const model::Task& task) const {
    if (!file_)
        return std::nullopt;
    const auto& tasks = images_.tree.tasks;
    const auto at = std::find_if(tasks.begin(), tasks.end(), [&](const auto& other) { return other.get() == &task; });
    return memory::CloneFile{file_.get(), static_cast<std::size_t>(at - tasks.begin()), areasOf(task)};
}

memory::LazyAreas LazyRestore::areasOf(const model::Task& task) const {
    if (!possible_ || hasIoUring(task))
        return {};
    return file_ ? cloneAreasOf(task, *images_.pages.at(task.pid)) : lazyAreasOf(task);
}

void LazyRestore::handOver(compel::FrozenProcess& process, const compel::InjectedMemory& area,
                           const model::Task& task) {
    const memory::LazyAreas areas = areasOf(task);
    const memory::PageSource& pages = *images_.pages.at(task.pid);
    const bool clones = static_cast<bool>(file_);
    std::vector<Range> late;
    for (const Range& mapping : areas.mappings()) {
        // For clones, registers all areas: a page of the shared-pages file must never be visible before a fault on it.
        bool any = clones;
        pages.forEach(mapping.start, mapping.end, [&](const PageJob& job) {
            areas.forEach(job, [&](const PageJob&, bool isLate) { any = any || isLate; });
        });
        if (any)
            late.push_back(mapping);
    }
    LazyMessage message{LazyMessage::Kind::Memory, task.pid.value, process.pid()};
    if (late.empty()) {
        // The daemon gets a pidfd even of a process without lazy pages, because the daemon kills the whole tree if it
        // can't supply pages.
        message.kind = LazyMessage::Kind::Whole;
        if (!clones)
            link_.send(message, kernel::PidFd(process.pid()).fd());
        return;
    }
    const UniqueFd fd = makeInside(process, area);
    const auto enable = clones ? kernel::enableUffdMinor : kernel::enableUffdMissing;
    const auto registerFor = clones ? kernel::registerUffdMinor : kernel::registerUffdMissing;
    if (const int code = enable(fd.get()); code != 0)
        failWith(code, "ask a userfaultfd for events");
    for (const Range& mapping : late)
        if (const int code = registerFor(fd.get(), mapping.start, mapping.size()); code != 0)
            failWith(code, "register the memory at {:#x} for pages that come later", mapping.start);
    link_.send(message, fd.get());
    message.kind = LazyMessage::Kind::Process;
    link_.send(message, kernel::PidFd(process.pid()).fd());
    log_.debug("Pages of process {} come later in {} mappings", task.pid, late.size());
}

void LazyRestore::begin() {
    link_.send({LazyMessage::Kind::Begin});
    UniqueFd none;
    const auto answer = link_.receive(none, limit_);
    if (!answer || answer->kind != LazyMessage::Kind::Ready)
        fail("the daemon that supplies pages has ended: its log says why");
}

void LazyRestore::done() {
    const ErrorContext context([] { return "tell the daemon that supplies pages that the processes run"; });
    link_.send({LazyMessage::Kind::Done});
}

void requireAllPages(const RestoreImages& images) {
    for (const auto& task : images.tree.tasks) {
        if (!task->alive() || !anyJob(*images.pages.at(task->pid), isMissingLazy))
            continue;
        Error error(ENODATA, fmt::format("process {}: pages of it are in no image: they are with the dump", task->pid));
        error.addHint("restore with --lazy-pages, and criu lazy-pages --page-server beside it");
        throw error;
    }
}

}  // namespace criu::engine
