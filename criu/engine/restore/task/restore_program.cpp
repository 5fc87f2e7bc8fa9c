// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/task/restore_program.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <span>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/machine.hpp"
#include "criu/engine/restore/birth/restore_start.hpp"
#include "criu/engine/restore/files/task_files.hpp"
#include "criu/engine/restore/restore_control.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/engine/restore/restore_run.hpp"
#include "criu/engine/restore/task/ring_creation.hpp"
#include "criu/engine/restore/task/task_steps.hpp"
#include "criu/engine/restorer_room.hpp"
#include "criu/memory/mappings/address_space.hpp"
#include "criu/memory/vdso/vdso.hpp"
#include "criu/pie/enter.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/registers.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

void mapAt(std::uint64_t at, std::size_t size, int protection, int flags, int fd) {
    if (::mmap(reinterpret_cast<void*>(at), size, protection, flags | MAP_FIXED_NOREPLACE, fd, 0) == MAP_FAILED)
        failErrno("map {} bytes for the restorer at {:#x}", size, at);
}

}  // namespace

RestoreProgram::RestoreProgram(const Inputs& inputs)
    : in_(inputs),
      vdso_(std::make_unique<memory::VdsoMove>(
          memory::VdsoMove::plan(inputs.task, *inputs.run.content.pages.at(inputs.task.pid), *inputs.run.start.vdso,
                                 task::isCompat(inputs.task.core()) ? inputs.run.start.compatVdso.get() : nullptr))) {
    const MmEntry& mm = **in_.task.mm;
    exe_ = in_.run.service.moveIn(in_.files.openPath(FileId{mm.exe_file_id}, O_RDONLY));

    const std::uint64_t code = pageAlignUp(pie::interpreterBlob().bytes.size());
    const std::uint64_t control = in_.run.control.size();
    const std::uint64_t parking = vdso_->parkingSize();
    const std::uint64_t room =
        code + machinePageSize() + control + parking + restorerDataRoom(in_.task.core(), mm, in_.task.threads.size());
    // A 32-bit task needs an area below 4 GiB, because it passes addresses in the area to 32-bit system calls.
    const std::uint64_t limit = task::isCompat(in_.task.core()) ? compatTaskSize() : taskSize();
    area_ = findRestorerArea(room, limit, mm, in_.run.mappings);
    wordAt_ = area_.start + code;
    controlAt_ = wordAt_ + machinePageSize();
    parkingAt_ = controlAt_ + control;
    data_ = pie::RemoteData(parkingAt_ + parking);
}

RestoreProgram::~RestoreProgram() = default;

std::uint64_t RestoreProgram::controlAddress(const void* member) const {
    const auto* const start = reinterpret_cast<const char*>(&in_.run.control.page());
    return controlAt_ + static_cast<std::uint64_t>(static_cast<const char*>(member) - start);
}

void RestoreProgram::composeMemory(pie::StepList& steps) {
    memory::RangeSet keep = vdso_->present();
    keep.add(area_);
    in_.space.addUnmapSteps(keep, steps);
    vdso_->addSteps(parkingAt_, steps);
    in_.space.addMoveSteps(steps);
    in_.space.addLateSteps(steps);
    memory::RangeSet others = vdso_->finalPlaces();
    others.add({area_.start, parkingAt_});
    others.add({data_.base(), area_.end});
    in_.space.addIoUringSteps(in_.files, others, steps);
    in_.files.addMemorySteps(steps, data_);
    task::restoreMemoryLayout(**in_.task.mm, exe_.get(), steps, data_);
}

void RestoreProgram::composeEnd(pie::StepList& steps) {
    const ControlPage& page = in_.run.control.page();
    steps.add(pie::Op::FutexAdd, pie::Subject::Other, 0, controlAddress(&page.parked), 1);
    steps.add(pie::Op::FutexAdd, pie::Subject::Other, 0, controlAddress(&page.events), 1);
}

void RestoreProgram::run(const ThreadDirectories& directories, const EarlyThreads& early) {
    pie::StepList steps;
    const ControlPage& page = in_.run.control.page();
    const StepReports reports{controlAddress(&page.failure), controlAddress(&page.events)};
    TaskSteps task(in_.run, in_.task, directories, reports, data_);
    task.awaitEarlyThreads(early.size(), steps);
    composeMemory(steps);
    task.compose(in_.run.files.polledRingsOf(in_.task).empty() ? 0 : ringLimits(), steps);
    composeEnd(steps);
    const std::uint64_t program = steps.place(data_, reports.failureAt, reports.eventsAt, true);
    const std::uint64_t stack = data_.reserve(pie::kStackSize) + pie::kStackSize;

    const std::span<std::byte> bytes = data_.bytes();
    const std::size_t dataSize = pageAlignUp(bytes.size());
    if (data_.base() + dataSize > area_.end)
        fail("the restorer's program needs {} bytes, more than was set aside", dataSize);
    const std::span<const std::byte> code = pie::interpreterBlob().bytes;
    const std::size_t codeSize = pageAlignUp(code.size());
    mapAt(area_.start, codeSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    std::memcpy(reinterpret_cast<void*>(area_.start), code.data(), code.size());
    sys(::mprotect(reinterpret_cast<void*>(area_.start), codeSize, PROT_READ | PROT_EXEC), "protect the restorer");
    in_.run.control.commitWord().mapAt(wordAt_);
    mapAt(controlAt_, in_.run.control.size(), PROT_READ | PROT_WRITE, MAP_SHARED, in_.run.control.fd());
    // Maps the whole reserved range, so that no other mapping can be placed there.
    mapAt(data_.base(), area_.end - data_.base(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
          -1);
    std::memcpy(reinterpret_cast<void*>(data_.base()), bytes.data(), bytes.size());

    ControlPage& shared = in_.run.control.page();
    __atomic_fetch_add(&shared.restoredPages, in_.space.restoredPages, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared.comparedPages, in_.space.comparedPages, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shared.sharedPages, in_.space.sharedPages, __ATOMIC_RELAXED);
    in_.run.control.noteArea({in_.task.pid, area_.start, data_.base(), area_.end});

    const std::uint64_t entry = area_.start + pie::interpreterBlob().entryOffset;
    task.enterEarly(early, entry);
    in_.run.log.debug("Restorer of {} steps at {:#x}", steps.size(), area_.start);
    pie::dropRseq();
    pie::enter(entry, program, stack);
}

}  // namespace criu::engine
