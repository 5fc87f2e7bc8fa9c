// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>

#include "criu/engine/dump/namespaces.hpp"

namespace criu::memory {
struct EarlyDump;
}

namespace criu::task {
enum class LabelModule : std::uint8_t;
}

namespace criu::engine {

struct GuardedFiles;
class EarlyPages;
class FrozenPhase;
class RollbackStep;

/// Second phase of a dump: refusals are over, namespaces are examined, the network is locked, and devices are
/// checkpointed. Early pages may be written.
class ExaminedPhase {
public:
    /// Throws Error that names the process and why it can't be dumped. Both arguments outlive this object.
    ExaminedPhase(FrozenPhase& frozen, const GuardedFiles& guardedFiles);
    ~ExaminedPhase();
    ExaminedPhase(const ExaminedPhase&) = delete;
    ExaminedPhase& operator=(const ExaminedPhase&) = delete;

    [[nodiscard]] FrozenPhase& frozen() const noexcept { return frozen_; }
    [[nodiscard]] DumpNamespaces& namespaces() noexcept { return namespaces_; }
    [[nodiscard]] const namespaces::DumpNsContext& nsContext() const noexcept { return namespaces_.nsContext(); }

    [[nodiscard]] const GuardedFiles& guardedFiles() const noexcept { return guardedFiles_; }
    /// Returns whether the tree has files of a FUSE server.
    [[nodiscard]] bool usesServers() const noexcept;

    /// Returns the processes whose pages are written already.
    [[nodiscard]] const std::map<HostPid, memory::EarlyDump>& writtenEarly() const noexcept;

    /// Returns the security module whose labels this kernel shows.
    [[nodiscard]] task::LabelModule labelModule() const noexcept { return labelModule_; }

    /// Calls namespaces::NamespaceDump::prepareKill() of all kinds. Throws Error.
    void prepareKill() { namespaces_.prepareKill(); }
    /// Calls namespaces::NamespaceDump::release() when the images are complete.
    void release(model::FinalState state) { namespaces_.release(state); }

private:
    FrozenPhase& frozen_;
    const GuardedFiles& guardedFiles_;
    const task::LabelModule labelModule_;
    DumpNamespaces namespaces_;
    std::unique_ptr<RollbackStep> unlock_;
    std::unique_ptr<EarlyPages> earlyPages_;
};

}  // namespace criu::engine
