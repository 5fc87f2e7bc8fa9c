// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/json.hpp"
#include "criu/base/log.hpp"
#include "criu/base/printable.hpp"
#include "criu/base/refusals.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/lazy/lazy_restore.hpp"
#include "criu/engine/mapping_room.hpp"
#include "criu/engine/pid_room.hpp"
#include "criu/engine/required_caps.hpp"
#include "criu/engine/restore/files/missing_files.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::engine {
namespace {

/// Obstacles to a restore, and remarks.
class Findings {
public:
    void add(std::string reason, std::string remedy) { add({std::move(reason), std::move(remedy)}); }
    void add(Refusal obstacle) { obstacles_.push_back(std::move(obstacle)); }
    void remark(std::string_view text) { remarks_.emplace_back(text); }
    /// Runs `attempt` and adds its failure as an obstacle. Returns true if it succeeded.
    bool tried(const std::function<void()>& attempt) {
        try {
            attempt();
            return true;
        } catch (const std::exception&) {
            obstacles_.push_back(Refusal::current());
            return false;
        }
    }
    [[nodiscard]] std::size_t count() const noexcept { return obstacles_.size(); }
    /// Returns the report with one line for each obstacle and remark.
    [[nodiscard]] std::string text() const;
    /// Returns the report as a JSON document.
    [[nodiscard]] std::string json() const;

private:
    std::vector<Refusal> obstacles_;
    std::vector<std::string> remarks_;
};

std::string Findings::text() const {
    std::string out;
    const auto to = std::back_inserter(out);
    for (const Refusal& each : obstacles_)
        fmt::format_to(to, "In the way: {}\n", printable(each.text()));
    for (const std::string& remark : remarks_)
        fmt::format_to(to, "{}\n", printable(remark));
    if (obstacles_.empty())
        fmt::format_to(to, "Nothing is in the way of a restore here, as far as can be seen before one is tried.\n");
    return out;
}

std::string Findings::json() const {
    JsonWriter out;
    out.beginObject().add("command", "explain").add("possible", obstacles_.empty());
    addList(out, "obstacles", obstacles_);
    out.beginList("remarks");
    for (const std::string& remark : remarks_)
        out.add("", remark);
    return out.end().end().take();
}

/// Adds the process that has the pid `number`, if one exists.
void findHolder(const kernel::ProcDir& proc, pid_t number, kernel::ProcBuffer& buffer, Findings& findings) {
    constexpr std::string_view kElsewhere = "restore in a pid namespace of its own: --new-pidns";
    try {
        const kernel::TaskStat stat = kernel::readStat(proc.open(number), buffer);
        const bool ended = stat.state == kernel::TaskState::Zombie || stat.state == kernel::TaskState::Dead;
        if (!ended)
            findings.add(fmt::format("pid {} is taken by {}", number, stat.comm),
                         number == 1 ? std::string(kElsewhere) : fmt::format("end it, or {}", kElsewhere));
        else
            findings.add(fmt::format("pid {} is taken by {}, which has ended, but process {} hasn't waited for it",
                                     number, stat.comm, stat.ppid),
                         stat.ppid == 1 ? fmt::format("have process 1 wait for its children, or {}", kElsewhere)
                                        : fmt::format("make process {} wait for it, or end process {}, or {}",
                                                      stat.ppid, stat.ppid, kElsewhere));
    } catch (const Error&) {
        // No process has the pid, so it is free.
    }
}

void findTakenPids(const PlannedRestore& planned, Findings& findings) {
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    for (const auto& task : planned.tree().tasks)
        for (const model::Thread& thread : task->threads)
            findHolder(proc, thread.tid.value, buffer, findings);
}

void findFiles(const PlannedRestore& planned, Findings& findings) {
    const auto& root = planned.options().root;
    const bool elsewhere = planned.nsContext.ownPaths && !planned.nsContext.sameFiles;
    if (elsewhere && !root) {
        findings.remark(
            "Files weren't checked: the tree has its own mount namespace. Give --root DIR, as for the restore, to "
            "check them.");
        return;
    }
    std::vector<Refusal> changed;
    for (const MissingFile& file : findMissingFiles(planned, elsewhere ? *root : "", changed))
        findings.add(fmt::format("{} isn't there", describe(file)),
                     file.ofDump ? "a name that the dump made, and that a restore has taken away: images that "
                                   "need it are restored once"
                                 : "images don't hold it; put it back");
    for (Refusal& file : changed)
        findings.add(std::move(file));
}

/// Returns true if sockets of the tree's network namespace are restored in criu's.
bool sharesNetwork(const PlannedRestore& planned) {
    return !planned.nsContext.ownNetwork && !planned.joined.has(kernel::NamespaceKind::Net);
}

void findOccupied(const PlannedRestore& planned, Findings& findings) {
    const std::uint32_t network = planned.files.namespaceNumber(kernel::NamespaceKind::Net).value_or(0);
    const std::function<void(std::string)> remark = [&](std::string text) { findings.remark(text); };
    const bool sharesPaths = !planned.nsContext.ownPaths || planned.nsContext.sameFiles;
    for (std::size_t at = 0; at < planned.files.count(); ++at) {
        const CollectedFile& each = planned.files.at(at);
        const bool inRoots = each.network == 0 || each.network == network;
        findings.tried([&] {
            each.file->requireOpenable(
                {planned.options(), planned.log(), remark, inRoots && sharesNetwork(planned), sharesPaths});
        });
    }
}

void findAll(Run& run, Findings& findings) {
    findings.tried([] { requireCommandCaps(options::Command::Restore); });
    run.refusals.collect(run.stop);
    std::unique_ptr<PlannedRestore> planned;
    const bool isPlanned = findings.tried([&] { planned = std::make_unique<PlannedRestore>(run); });
    for (const Refusal& refusal : run.refusals.all())
        findings.add(refusal);
    if (!isPlanned)
        return;
    findings.tried([&] { planned->files.noteLinks(); });
    findings.tried([&] { PidRoom::require(*planned); });
    findings.tried([&] { requireMappingRoom(planned->content); });
    if (!planned->nsContext.ownPids)
        findTakenPids(*planned, findings);
    findFiles(*planned, findings);
    findOccupied(*planned, findings);
    if (!run.options.lazyPages && !run.options.mapPages)
        findings.tried([&] { requireAllPages(planned->content); });
}

}  // namespace

int explain(Run& run, std::string& answer) {
    Findings findings;
    findAll(run, findings);
    answer = run.options.json ? findings.json() : findings.text();
    return findings.count() == 0 ? 0 : 1;
}

}  // namespace criu::engine
