// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/last_steps.hpp"

#include <compel/injection.hpp>

#include <algorithm>
#include <functional>
#include <unordered_map>

#include "criu/base/error.hpp"
#include "criu/engine/step_results.hpp"
#include "criu/pie/enter.hpp"
#include "criu/task/attributes.hpp"
#include "criu/task/thread_state.hpp"

namespace criu::engine {
namespace {

/// Threads that work at the same time.
constexpr std::size_t kBatch = 128;

class SeccompFinish {
public:
    SeccompFinish(compel::FrozenProcess& process, const model::Task& task, const std::vector<task::SeccompPlan>& plans,
                  const task::Credentials& now)
        : process_(process), task_(task), plans_(plans), now_(now) {
        for (compel::FrozenThread& thread : process.threads())
            tracees_.emplace(thread.tracee.tid(), &thread.tracee);
    }

    void run() {
        std::size_t room = 0;
        const auto measure = [&room](std::size_t first, std::size_t end, const Compose& compose) {
            pie::RemoteData data(0);
            place(data, first, end, compose);
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

    struct Placed {
        std::uint64_t program = 0;
        std::uint64_t stackTop = 0;
    };

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
        for (std::size_t first = 1; first < plans_.size(); first += kBatch)
            visit(first, std::min(first + kBatch, plans_.size()), rest);
        visit(0, 1, rest);
    }

    static std::vector<Placed> place(pie::RemoteData& data, std::size_t first, std::size_t end,
                                     const Compose& compose) {
        std::vector<Placed> all;
        for (std::size_t index = first; index < end; ++index) {
            pie::StepList steps;
            compose(index, steps, data);
            Placed placed;
            placed.program = steps.place(data, 0, 0, false);
            placed.stackTop = data.reserve(pie::kStackSize) + pie::kStackSize;
            all.push_back(placed);
        }
        return all;
    }

    void execute(std::size_t first, std::size_t end, const Compose& compose) {
        pie::RemoteData data(injection_->data());
        const std::vector<Placed> all = place(data, first, end, compose);
        injection_->memory().write(data.base(), data.bytes());
        std::vector<compel::BlobRun> runs;
        runs.reserve(all.size());
        for (std::size_t i = 0; i < all.size(); ++i)
            runs.push_back(injection_->start(tracee(first + i), all[i].program, all[i].stackTop));
        for (compel::BlobRun& run : runs)
            run.finish();
        injection_->memory().read(data.base(), data.bytes());
        for (std::size_t i = 0; i < all.size(); ++i)
            requireComplete(data, all[i].program, task_.threads[first + i].tid);
    }

    compel::Tracee& tracee(std::size_t index) const {
        const auto found = tracees_.find(task_.threads[index].tid);
        if (found == tracees_.end())
            fail("thread {} wasn't made", task_.threads[index].tid);
        return *found->second;
    }

    compel::FrozenProcess& process_;
    const model::Task& task_;
    const std::vector<task::SeccompPlan>& plans_;
    const task::Credentials& now_;
    std::unordered_map<pid_t, compel::Tracee*> tracees_;
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

void finishUnderSeccomp(compel::FrozenProcess& process, const model::Task& task,
                        const std::vector<task::SeccompPlan>& plans, const task::Credentials& now) {
    SeccompFinish(process, task, plans, now).run();
}

}  // namespace criu::engine
