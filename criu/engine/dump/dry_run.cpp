// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/dry_run.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/json.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/base/names.hpp"
#include "criu/base/printable.hpp"
#include "criu/base/refusals.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/engine/dump/captured.hpp"
#include "criu/engine/dump/examined.hpp"
#include "criu/engine/dump/frozen.hpp"
#include "criu/engine/dump/frozen_tree.hpp"
#include "criu/engine/dump/refusals.hpp"
#include "criu/engine/engine.hpp"
#include "criu/engine/fuse_guarded_run.hpp"
#include "criu/engine/predump/wp_tracker_daemon.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/spool.hpp"
#include "criu/model/options.hpp"
#include "criu/task/security_label.hpp"

namespace criu::engine {
namespace {

/// Directory for the images of a dry run: a spool, or a private directory in the images directory if criu may not
/// create a spool. The destructor removes the directory.
class DryRunImages {
public:
    DryRunImages(int place, std::optional<std::uint64_t> limit) : place_(copyOf(place)) {
        try {
            const ImageDir spool = makeSpool(limit, "the dry run");
            directory_ = copyOf(spool.fd());
        } catch (const Error& error) {
            if (error.code() != EPERM)
                throw;
            makeDirectory(place, name_, IfThere::Refused);
            directory_.reset(sys(::openat(place, name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                                 "open the directory {}", name_));
            made_ = true;
        }
    }
    ~DryRunImages() {
        if (!made_)
            return;
        struct stat status {};
        const bool known = ::fstat(directory_.get(), &status) == 0;
        emptySpool(ImageDir(std::move(directory_), name_));
        if (known)
            (void)removeIfSame(place_.get(), name_.c_str(), Inode::of(status));
    }
    DryRunImages(const DryRunImages&) = delete;
    DryRunImages& operator=(const DryRunImages&) = delete;

    [[nodiscard]] UniqueFd open() const { return copyOf(directory_.get()); }

private:
    static UniqueFd copyOf(int fd) {
        return UniqueFd(sys(::fcntl(fd, F_DUPFD_CLOEXEC, 0), "copy the descriptor of a directory"));
    }

    UniqueFd place_;
    std::string name_ = fmt::format("criu-dry-run.{}", ::getpid());
    UniqueFd directory_;
    bool made_ = false;
};

/// Makes the checks of the phases after the freeze.
void examine(FrozenPhase& frozen, const GuardedFiles& guardedFiles) {
    Refusals& refusals = frozen.refusals();
    std::optional<ExaminedPhase> examined;
    if (!refusals.attempt([&] { examined.emplace(frozen, guardedFiles); })) {
        // A namespace was refused, without which files and memory can't be examined.
        (void)refuseUnsupported(frozen.tree(), frozen.options(), task::labelModule(), frozen.log(), refusals);
        frozen.log().warn("Files and memory weren't examined, because a namespace can't be dumped");
        return;
    }
    if (!examined->isLocked()) {
        frozen.log().warn("Files and memory weren't examined, because the network can't be locked");
        return;
    }
    for (const auto& task : frozen.tree().tasks())
        if (const auto name = frozen.devices().whoCheckpoints(task->pid()); !name.empty())
            frozen.log().warn("Only a dump examines the devices of {}, because {} checkpoints them", task->describe(),
                              name);
    if (!examined->mayInject())
        frozen.log().warn("Some state of the processes wasn't examined, because that could harm a refused process");
    refusals.attempt([&] { const CapturedPhase captured(*examined); });
}

/// Report of a dry run.
struct Findings {
    HostPid root;
    const std::vector<Refusal>& refusals;
    std::vector<Log::KeptLoss> losses;
    std::vector<std::string> warnings;
};

std::string dryRunText(const Findings& found) {
    std::string out;
    const auto to = std::back_inserter(out);
    for (const Refusal& each : found.refusals)
        fmt::format_to(to, "Refused: {}\n", printable(each.text()));
    for (const Log::KeptLoss& loss : found.losses)
        if (!loss.refused)
            fmt::format_to(to, "Warning: {} (loss: {})\n", loss.text, nameOf(loss.kind));
    for (const std::string& warning : found.warnings)
        fmt::format_to(to, "Warning: {}\n", warning);
    if (found.refusals.empty())
        fmt::format_to(to, "Nothing prevents a dump of process {}, as far as criu can know before one.\n", found.root);
    else
        fmt::format_to(to, "A dump of process {} would fail: {} of its parts can't be dumped.\n", found.root,
                       found.refusals.size());
    return out;
}

std::string dryRunJson(const Findings& found) {
    JsonWriter out;
    out.beginObject().add("command", "dump").add("tree", std::int64_t{found.root.value});
    out.add("possible", found.refusals.empty());
    addList(out, "refusals", found.refusals);
    out.beginList("losses");
    for (const Log::KeptLoss& loss : found.losses) {
        out.beginObject().add("kind", nameOf(loss.kind)).add("reason", loss.text).add("refused", loss.refused);
        out.end();
    }
    out.end();
    out.beginList("warnings");
    for (const std::string& warning : found.warnings)
        out.add("", warning);
    return out.end().end().take();
}

}  // namespace

int dryRun(Run& run, Guardian& guardian) {
    run.refusals.collect(run.stop);
    run.log.keepWarnings();
    const DryRunImages images(run.imagesDir.get(), run.options.streamMemory);
    run.imagesDir = images.open();
    run.refusals.attempt([&] {
        FrozenPhase frozen(run, guardian, FrozenPhase::Purpose::DryRun, std::nullopt);
        runFuseGuarded(frozen, [&frozen](const GuardedFiles& guardedFiles) {
            examine(frozen, guardedFiles);
            return 0;
        });
    });
    const Findings found{*run.options.tree, run.refusals.all(), run.log.keptLosses(), run.log.keptWarnings()};
    for (const Log::KeptLoss& loss : found.losses)
        if (loss.refused)
            run.refusals.add({loss.text, remedyOf(loss.kind)});
    const std::string report = run.options.json ? dryRunJson(found) : dryRunText(found);
    ::dprintf(STDOUT_FILENO, "%s", report.c_str());
    return found.refusals.empty() ? 0 : 1;
}

}  // namespace criu::engine
