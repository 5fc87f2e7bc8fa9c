// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/files/ring_owners.hpp"

#include <linux/io_uring.h>
#include <sys/syscall.h>

#include <compel/injection.hpp>
#include <compel/remote_syscalls.hpp>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/machine.hpp"
#include "criu/engine/dump/files/ring_requests.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/files/io_uring_probe.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/pie/enter.hpp"
#include "criu/pie/injection_record.hpp"
#include "criu/pie/program_builder.hpp"
#include "criu/pie/step_results.hpp"

namespace criu::engine {
namespace {

/// Maximum number of queries in one program. Their steps and results fit in one mebibyte of the process' memory.
constexpr std::uint32_t kGroupsAtOnce = 8192;
constexpr std::size_t kPerGroup = sizeof(pie::Step) + sizeof(files::BufferGroupStatus) + 16;
static_assert(files::kBufferGroups % kGroupsAtOnce == 0);

/// Returns the id of the ring's first group of provided buffers. `owner`: the ring owner, which makes the queries.
std::optional<std::uint32_t> findBufferGroup(FrozenTask& task, compel::Tracee& owner, int fd, StopRequest& stop,
                                             Journal& journal) {
    compel::FrozenProcess& process = *task.process;
    const std::size_t room = kGroupsAtOnce * kPerGroup + pie::kStackSize + compel::signalFrameRoom() + 4096;
    pie::recordInjection(pie::InjectedBlob::Interpreter, task.pid(), task.stat.startTime, room, journal);
    compel::Injection injection(process.leader(), pie::interpreterBlob(), pageAlignUp(room),
                                process.syscallInstruction());
    std::optional<std::uint32_t> found;
    for (std::uint32_t first = 0; !found && first < files::kBufferGroups; first += kGroupsAtOnce) {
        pie::RemoteData data(injection.data());
        pie::StepList steps;
        for (std::uint32_t group = first; group < first + kGroupsAtOnce; ++group)
            steps
                .call(pie::Subject::Query, group, SYS_io_uring_register, fd, kernel::kIoUringBufferGroup,
                      data.put(files::BufferGroupStatus{.group = group}), 1)
                .check = pie::ResultCheck::Any;
        const RemoteProgram program = runProgram(injection, steps, data, owner, &stop);
        for (std::uint32_t i = 0; !found && i < kGroupsAtOnce; ++i)
            if (data.local<pie::Step>(program.steps + i * sizeof(pie::Step)).result != -ENOENT)
                found = first + i;
    }
    injection.cure();
    return found;
}

/// Makes the ring owner query the ring `fd`. Returns null if the ring owner is in another process.
std::shared_ptr<const files::RingAnswers> askOwner(FrozenTask& task, int fd, StopRequest& stop, Journal& journal) {
    compel::FrozenProcess& process = *task.process;
    for (compel::FrozenThread& thread : process.threads()) {
        auto answers = std::make_shared<files::RingAnswers>();
        {
            compel::RemoteSyscalls calls(thread.tracee, process.syscallInstruction());
            const auto ask = [&](unsigned request) {
                return static_cast<int>(-calls.call(SYS_io_uring_register, fd, request, files::kNowhere, 1));
            };
            if (ask(IORING_REGISTER_FILES_UPDATE2) == EEXIST)
                continue;
            *answers = files::askRing(ask);
            calls.restore();
        }
        if (files::reportsBufferGroups())
            answers->bufferGroup = findBufferGroup(task, thread.tracee, fd, stop, journal);
        return answers;
    }
    return nullptr;
}

class NotedAnswers final : public files::RingOwners {
public:
    explicit NotedAnswers(const FrozenTree& tree) noexcept : tree_(tree) {}

    [[nodiscard]] const files::RingAnswers* answersTo(HostPid pid, int fd) const override {
        const FrozenTask* const task = tree_.find(pid);
        if (task == nullptr)
            return nullptr;
        const auto found = task->ringAnswers.find(fd);
        return found == task->ringAnswers.end() ? nullptr : found->second.get();
    }

    [[nodiscard]] const files::RingThread* threadOf(HostPid pid, int fd) const override {
        const FrozenTask* const task = tree_.find(pid);
        if (task == nullptr)
            return nullptr;
        const auto found = task->ringThreads.find(fd);
        return found == task->ringThreads.end() ? nullptr : found->second.get();
    }

private:
    const FrozenTree& tree_;
};

}  // namespace

std::unique_ptr<files::RingOwners> makeRingOwners(const FrozenTree& tree) {
    return std::make_unique<NotedAnswers>(tree);
}

void askRingOwners(const std::vector<TaskRing>& rings, StopRequest& stop, Journal& journal) {
    for (const TaskRing& ring : rings) {
        stop.throwIfRequested();
        const UniqueFd copy = kernel::PidFd::ofTask(ring.task->actor().value).getFd(ring.fd);
        if (!files::belongsToAnother(copy.get()))
            continue;
        const ErrorContext context([&] { return ring.task->describe(); });
        if (auto answers = askOwner(*ring.task, ring.fd, stop, journal))
            ring.task->ringAnswers.emplace(ring.fd, std::move(answers));
    }
}

}  // namespace criu::engine
