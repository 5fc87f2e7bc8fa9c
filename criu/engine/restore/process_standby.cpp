// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/process_standby.hpp"

#include "criu/base/error.hpp"
#include "criu/engine/restore/task/restorer_area.hpp"
#include "criu/engine/restorer_room.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::engine {

bool ProcessStandby::prepare() {
    std::vector<compel::FrozenThread>& threads = process_.threads();
    const StandbyRoom room;
    if (area_.dataSize < threads.size() * room.all())
        return false;
    pie::RemoteData data(area_.data);
    const std::uint64_t continued = data.reserve(sizeof(std::uint32_t));
    std::uint64_t next = area_.data + threads.size() * room.program;
    for (compel::FrozenThread& thread : threads) {
        const std::uint64_t stackTop = next + room.stack;
        next = stackTop + room.frame;
        const auto standby = compel::Standby::place(thread.tracee, next);
        if (!standby)
            return false;
        pie::StepList steps;
        steps.add(pie::Op::EndUnlessSet, pie::Subject::Other, 0, commitWordAt(area_));
        const bool isLeader = threads_.empty();
        // Only the leader stops the process; the other threads wait until the process continues.
        if (isLeader && stops_) {
            steps.add(pie::Op::StopSelf, pie::Subject::Other, 0);
            steps.add(pie::Op::FutexAdd, pie::Subject::Other, 0, continued, 1);
        } else if (stops_) {
            steps.add(pie::Op::FutexWait, pie::Subject::Other, 0, continued, 1);
        }
        steps.add(pie::Op::FrameReturn, pie::Subject::Other, 0, standby->frame());
        threads_.push_back({*standby, steps.place(data, 0, 0, false), stackTop});
    }
    if (data.bytes().size() > threads.size() * room.program)
        fail("a program by which a thread continues needs more than {} bytes", room.program);
    process_.memory().write(data.base(), data.bytes());
    return true;
}

void ProcessStandby::begin() {
    const std::uint64_t entry = area_.code + pie::interpreterBlob().entryOffset;
    for (Prepared& each : threads_)
        each.thread.enter(entry, each.program, each.stackTop);
}

void ProcessStandby::end() {
    for (auto each = threads_.rbegin(); each != threads_.rend(); ++each)
        each->thread.leave();
}

}  // namespace criu::engine
