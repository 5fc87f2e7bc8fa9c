// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/last_steps.hpp"

#include <compel/injection.hpp>

#include <algorithm>
#include <functional>

#include "criu/base/error.hpp"
#include "criu/engine/step_results.hpp"
#include "criu/pie/enter.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/thread_state.hpp"
#include "images/core.hpp"
#include "images/mm.hpp"

namespace criu::engine {
namespace {

class SeccompFinish {
public:
    SeccompFinish(compel::FrozenProcess& process, const std::unordered_map<pid_t, compel::FrozenThread*>& threads,
                  const model::Task& task, const std::vector<task::SeccompPlan>& plans, const task::Credentials& now)
        : process_(process), threads_(threads), task_(task), plans_(plans), now_(now) {}

    void run() {
        std::size_t room = 0;
        const auto measure = [&room](std::size_t first, std::size_t end, const Compose& compose) {
            pie::RemoteData data(0);
            for (std::size_t index = first; index < end; ++index)
                place(data, index, nullptr, compose);
            room = std::max(room, data.bytes().size());
        };
        forEachRun(measure);
        injection_.emplace(process_.leader(), pie::interpreterBlob(), room, process_.syscallInstruction());
        forEachRun(
            [this](std::size_t first, std::size_t end, const Compose& compose) { execute(first, end, compose); });
        injection_->cure();
    }

private:
    using Compose = std::function<void(std::size_t index, pie::StepList&, pie::RemoteData&)>;

    /// The runs there are to be, in order: `visit(first thread, behind last thread, what each does)`.
    template <typename Visit>
    void forEachRun(Visit&& visit) const {
        if (!plans_.front().forAll.empty())
            visit(0, 1, [this](std::size_t, pie::StepList& steps, pie::RemoteData& data) {
                task::restoreCommonSeccomp(plans_.front(), steps, data);
            });
        const auto rest = [this](std::size_t index, pie::StepList& steps, pie::RemoteData& data) {
            task::restoreSeccomp(plans_[index], steps, data);
            const ThreadCoreEntry& core = *(*task_.threads[index].core)->thread_core;
            addLastSteps(core, index == 0 ? task_.mm->get() : nullptr, now_, steps, data);
        };
        for (std::size_t first = 1; first < plans_.size(); first += kThreadsAtOnce)
            visit(first, std::min(first + kThreadsAtOnce, plans_.size()), rest);
        visit(0, 1, rest);
    }

    static RemoteProgram place(pie::RemoteData& data, std::size_t index, compel::Tracee* thread,
                               const Compose& compose) {
        pie::StepList steps;
        compose(index, steps, data);
        return placeProgram(steps, data, thread);
    }

    void execute(std::size_t first, std::size_t end, const Compose& compose) {
        pie::RemoteData data(injection_->data());
        std::vector<RemoteProgram> programs;
        for (std::size_t index = first; index < end; ++index)
            programs.push_back(place(data, index, &tracee(index), compose));
        runPrograms(*injection_, data, programs);
    }

    compel::Tracee& tracee(std::size_t index) const {
        const auto found = threads_.find(task_.threads[index].tid);
        if (found == threads_.end())
            fail("thread {} wasn't made", task_.threads[index].tid);
        return found->second->tracee;
    }

    compel::FrozenProcess& process_;
    const std::unordered_map<pid_t, compel::FrozenThread*>& threads_;
    const model::Task& task_;
    const std::vector<task::SeccompPlan>& plans_;
    const task::Credentials& now_;
    std::optional<compel::Injection> injection_;
};

}  // namespace

void addLastSteps(const ThreadCoreEntry& core, const MmEntry* mm, const task::Credentials& now, pie::StepList& steps,
                  pie::RemoteData& data) {
    if (core.creds != nullptr)
        task::restoreCredentials(now, task::Credentials::ofImage(*core.creds), steps, data);
    if (mm != nullptr)
        task::restoreDumpable(*mm, steps);
    task::restoreDeathSignal(core, steps);
}

void finishUnderSeccomp(compel::FrozenProcess& process, const std::unordered_map<pid_t, compel::FrozenThread*>& threads,
                        const model::Task& task, const std::vector<task::SeccompPlan>& plans,
                        const task::Credentials& now) {
    SeccompFinish(process, threads, task, plans, now).run();
}

}  // namespace criu::engine
