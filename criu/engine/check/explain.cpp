// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <functional>
#include <iterator>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/printable.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/mapping_room.hpp"
#include "criu/engine/pid_room.hpp"
#include "criu/engine/required_caps.hpp"
#include "criu/engine/restore/files/missing_files.hpp"
#include "criu/engine/restore/files/restored_files.hpp"
#include "criu/engine/restore/planned.hpp"
#include "criu/engine/restore/restore_images.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/kernel/proc/stat.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::engine {
namespace {

/// List of obstacles to a restore, with one line for each.
class Findings {
public:
    void add(std::string_view text) {
        fmt::format_to(std::back_inserter(text_), "In the way: {}\n", printable(text));
        ++count_;
    }
    void remark(std::string_view text) { fmt::format_to(std::back_inserter(text_), "{}\n", printable(text)); }
    /// Runs `attempt`. If it throws, adds its error text as an obstacle and returns false. Else returns true.
    bool tried(const std::function<void()>& attempt) {
        try {
            attempt();
            return true;
        } catch (const std::exception& error) {
            add(error.what());
            return false;
        }
    }
    [[nodiscard]] unsigned count() const noexcept { return count_; }
    [[nodiscard]] std::string take() { return std::move(text_); }

private:
    std::string text_;
    unsigned count_ = 0;
};

void findTakenPids(const PlannedRestore& planned, Findings& findings) {
    const kernel::ProcDir proc;
    kernel::ProcBuffer buffer;
    for (const auto& task : planned.tree().tasks)
        for (const model::Thread& thread : task->threads) {
            try {
                const kernel::TaskStat stat = kernel::readStat(proc.open(thread.tid.value), buffer);
                findings.add(
                    fmt::format("pid {} is taken by {} (end it, or restore in a pid namespace of its own: "
                                "--new-pidns)",
                                thread.tid, stat.comm));
            } catch (const Error&) {
                // No process has the pid, so it is free.
            }
        }
}

void findFiles(const PlannedRestore& planned, Findings& findings) {
    const auto& root = planned.options().root;
    const bool elsewhere = planned.nsContext.ownPaths && !planned.nsContext.sameFiles;
    if (elsewhere && !root) {
        findings.remark("Its files weren't looked at: it has mounts of its own, which --root says where to find.");
        return;
    }
    for (const MissingFile& file : findMissingFiles(planned, elsewhere ? *root : ""))
        findings.add(fmt::format("{} isn't there ({})", describe(file),
                                 file.ofDump
                                     ? "a name that the dump made, and that a restore has taken away: images that "
                                       "need it are restored once"
                                     : "images don't hold it; put it back"));
}

void findAll(Run& run, Findings& findings) {
    findings.tried([] { requireCommandCaps(options::Command::Restore); });
    std::unique_ptr<PlannedRestore> planned;
    if (!findings.tried([&] { planned = std::make_unique<PlannedRestore>(run); }))
        return;
    findings.tried([&] { planned->files.noteLinks(); });
    findings.tried([&] { PidRoom::require(*planned); });
    findings.tried([&] { requireMappingRoom(planned->content); });
    if (!planned->nsContext.ownPids)
        findTakenPids(*planned, findings);
    findFiles(*planned, findings);
}

}  // namespace

int explain(Run& run, std::string& answer) {
    Findings findings;
    findAll(run, findings);
    if (findings.count() == 0)
        findings.remark("Nothing is in the way of a restore here, as far as can be seen before one is tried.");
    answer = findings.take();
    return findings.count() == 0 ? 0 : 1;
}

}  // namespace criu::engine
