// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/pid_room.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/engine/required_caps.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/files/regular.hpp"
#include "criu/model/birth_plan.hpp"
#include "criu/model/nested_pids.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::engine {
namespace {

/// Highest pid, tid, process group or session that the restore needs, with a description of its user.
struct Highest {
    pid_t number = 0;
    std::string owner;

    void add(pid_t other, const char* what) {
        if (other > number)
            *this = {other, fmt::format("{} {}", what, other)};
    }
};

/// Returns the highest id in the pid namespace of the root process.
Highest highestOf(const PlannedRestore& planned) {
    Highest highest;
    for (const auto& task : planned.tree().tasks)
        for (const model::Thread& thread : task->threads)
            highest.add(thread.tid.value, thread.tid == task->pid ? "process" : "thread");
    // births.all() also contains helpers, because a restore needs their pids as ids of process groups and sessions.
    for (const model::Birth& birth : planned.births.all()) {
        highest.add(birth.pid.value, birth.helper ? "process group or session" : "process");
        highest.add(birth.pgid.value, "process group");
    }
    for (const TreePid pid : planned.files.remaps().deadProcesses())
        highest.add(pid.value, "process");
    return highest;
}

/// Returns the highest id in nested pid namespaces.
Highest highestBelow(const PlannedRestore& planned) {
    Highest highest;
    for (const auto& space : planned.tree().nested().all())
        for (const auto& [who, number] : space->numbers)
            highest.add(number, "process or thread");
    return highest;
}

/// Returns the limit of the existing pid namespace that the root joins: criu's namespace, or one that the user passed.
/// Returns nothing if the user didn't pass a descriptor of this namespace.
std::optional<kernel::PidLimit> limitOfRoot(const PlannedRestore& planned) {
    const namespaces::RestoreNsContext& around = planned.nsContext;
    if (!around.ownPids)
        return kernel::PidLimit();
    const auto& given = planned.options().inheritFds;
    const auto found = std::find_if(given.begin(), given.end(),
                                    [&](const model::InheritFd& inherit) { return inherit.name == around.givenPids; });
    return found != given.end() ? std::optional(kernel::PidLimit(found->fd)) : std::nullopt;
}

[[noreturn]] void refuse(const PlannedRestore& planned, const Highest& wanted, pid_t highest, int code) {
    Error error(code, fmt::format("{} can't have its number: here the highest one is {} (kernel.pid_max)", wanted.owner,
                                  highest));
    const bool inNew = !planned.nsContext.endsWithFirst && kernel::PidLimit::ofNew().highest() >= wanted.number;
    error.addHint(code == EINVAL ? std::string("the kernel gives no numbers as high")
                                 : fmt::format("sysctl kernel.pid_max={} makes room{}", wanted.number + 1,
                                               inNew ? ", and so does a new pid namespace: --new-pidns" : ""));
    throw error;
}

/// Limit kernel.pid_max that is too low for the restore.
struct Lack {
    kernel::PidLimit limit;  ///< pid namespace in which the limit must be raised
    Highest wanted;
    pid_t highest = 0;
};

std::optional<Lack> findLack(const PlannedRestore& planned) {
    const kernel::PidLimit own;
    const pid_t highest = own.highest();
    // The kernel gives a new pid namespace at least the limit of criu's pid namespace. So criu only needs to raise the
    // limit of its own namespace.
    const auto lackInNew = [&](Highest wanted) -> std::optional<Lack> {
        if (wanted.number <= highest)
            return std::nullopt;
        const pid_t there = kernel::PidLimit::ofNew().highest();
        return wanted.number <= there ? std::nullopt : std::optional(Lack{own, std::move(wanted), there});
    };
    if (auto lack = lackInNew(highestBelow(planned)))
        return lack;
    Highest wanted = highestOf(planned);
    if (planned.nsContext.endsWithFirst)
        return lackInNew(std::move(wanted));
    const auto limit = limitOfRoot(planned);
    const pid_t there = limit ? limit->highest() : wanted.number;
    return wanted.number <= there ? std::nullopt : std::optional(Lack{*limit, std::move(wanted), there});
}

}  // namespace

PidRoom::PidRoom(const PlannedRestore& planned) : planned_(planned) {
    if (!planned.nsContext.ownPids)
        requireChoosablePids();
    try {
        raise();
    } catch (...) {
        lower();  // C++ doesn't call the destructor after a failed constructor
        throw;
    }
}

PidRoom::~PidRoom() {
    lower();
}

void PidRoom::raise() {
    while (const auto lack = findLack(planned_)) {
        const kernel::PidLimit limit = lack->limit;
        const pid_t before = limit.highest();
        if (const int code = limit.set(lack->wanted.number); code != 0)
            refuse(planned_, lack->wanted, lack->highest, code);
        raised_.push_back({limit, before, lack->wanted.number});
        if (limit.highest() < lack->wanted.number)
            refuse(planned_, lack->wanted, limit.highest(), 0);
        planned_.log().info("kernel.pid_max is raised from {} to {} for {}", before + 1, lack->wanted.number + 1,
                            lack->wanted.owner);
    }
}

void PidRoom::lower() noexcept {
    for (const Raised& raised : raised_) {
        try {
            // Lowers the limit only if it still has the value that criu set, because another process may have changed
            // it since.
            const int code = raised.limit.highest() == raised.now ? raised.limit.set(raised.before) : 0;
            if (code != 0)
                planned_.log().warn("kernel.pid_max can't be lowered to {} again: {}", raised.before + 1,
                                    std::strerror(code));
        } catch (const std::exception& error) {
            planned_.log().warn("kernel.pid_max stays raised: {}", error.what());
        }
    }
    raised_.clear();
}

void PidRoom::require(const PlannedRestore& planned) {
    if (!planned.nsContext.ownPids)
        requireChoosablePids();
    if (const auto lack = findLack(planned); lack && !lack->limit.maySet())
        refuse(planned, lack->wanted, lack->highest, 0);
}

}  // namespace criu::engine
