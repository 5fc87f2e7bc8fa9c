// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/restore/process_standby.hpp"

#include <compel/error.hpp>

#include <exception>

#include "criu/engine/restore/task/restorer_area.hpp"
#include "criu/engine/restorer_room.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/program_builder.hpp"

namespace criu::engine {

bool ProcessStandby::prepare() {
    std::vector<compel::FrozenThread>& threads = process_.threads();
    const StandbyRoom room;
    const std::size_t frames = threads.size() * (room.stack + room.frame);
    if (area_.dataSize < frames)
        return false;
    pie::RemoteData data(area_.data + frames);
    const std::uint64_t continued = data.reserve(sizeof(std::uint32_t));
    std::uint64_t next = area_.data;
    const std::size_t actor = leaderEnds_ ? 1 : 0;
    bool waits = false;
    for (compel::FrozenThread& thread : threads) {
        const std::uint64_t stackTop = next + room.stack;
        next = stackTop + room.frame;
        if (stopSignal_ != 0)
            process_.foresee(thread.tracee);
        const auto dispatch = dispatches_.find(thread.tracee.tid());
        // The frame is above the stack, which grows down.
        const auto standby = compel::Standby::place(
            thread.tracee, next, dispatch != dispatches_.end() ? std::optional(dispatch->second) : std::nullopt);
        if (!standby)
            return false;
        pie::StepList steps;
        steps.add(pie::Op::EndUnlessSet, pie::Subject::Other, 0, commitWordAt(area_));
        if (threads_.size() == actor)
            waits = addSteps(steps, data, continued);
        else if (waits)  // still false for a leader that ends
            steps.add(pie::Op::FutexWait, pie::Subject::Other, 0, continued, 1);
        steps.add(pie::Op::FrameReturn, pie::Subject::Other, 0, standby->frame());
        threads_.push_back({*standby, steps.place(data, 0, 0, false), stackTop});
    }
    if (area_.dataSize - frames < data.bytes().size())
        return false;
    process_.memory().write(data.base(), data.bytes());
    return true;
}

/// Adds the steps that one thread executes for the process. Returns true if the other threads must wait at `continued`
/// until it has executed them.
bool ProcessStandby::addSteps(pie::StepList& steps, pie::RemoteData& data, std::uint64_t continued) const {
    const std::size_t before = steps.size();
    for (const auto& [fd, file] : files_)
        file->addFinish(fd, steps, data);
    // Only one thread stops the process; the other threads wait until the process continues.
    if (stopSignal_ != 0)
        steps.add(pie::Op::StopSelf, pie::Subject::Other, 0, static_cast<std::uint64_t>(stopSignal_));
    if (steps.size() == before)
        return false;
    steps.add(pie::Op::FutexAdd, pie::Subject::Other, 0, continued, 1);
    return true;
}

void ProcessStandby::begin() {
    const std::uint64_t entry = area_.code + pie::interpreterBlob().entryOffset;
    for (Prepared& each : threads_)
        each.thread.enter(entry, each.program, each.stackTop);
}

void ProcessStandby::endLeader() {
    if (threads_.empty())
        return;
    compel::Standby leader = threads_.front().thread;
    threads_.erase(threads_.begin());
    leader.leave();
}

void ProcessStandby::end() {
    std::exception_ptr failure;
    for (auto each = threads_.rbegin(); each != threads_.rend(); ++each) {
        try {
            each->thread.leave();
        } catch (const compel::Error&) {
            if (!failure)
                failure = std::current_exception();
        }
    }
    if (failure)
        std::rethrow_exception(failure);
}

}  // namespace criu::engine
