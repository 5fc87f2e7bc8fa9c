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

/// Second phase of a dump. criu has made the checks that refuse a dump, has examined namespaces, locked the network and
/// checkpointed devices. Early pages may be in the sinks.
class ExaminedPhase {
public:
    /// Throws Error with the process and the reason if criu can't dump the tree. Both arguments must outlive this
    /// object.
    ExaminedPhase(FrozenPhase& frozen, const GuardedFiles& guardedFiles);
    ~ExaminedPhase();
    ExaminedPhase(const ExaminedPhase&) = delete;
    ExaminedPhase& operator=(const ExaminedPhase&) = delete;

    [[nodiscard]] FrozenPhase& frozen() const noexcept { return frozen_; }
    [[nodiscard]] DumpNamespaces& namespaces() noexcept { return namespaces_; }
    [[nodiscard]] const namespaces::DumpNsContext& nsContext() const noexcept { return namespaces_.nsContext(); }

    [[nodiscard]] const GuardedFiles& guardedFiles() const noexcept { return guardedFiles_; }
    /// Returns false if a dry run has found that injected code could harm a process.
    [[nodiscard]] bool mayInject() const noexcept { return mayInject_; }
    /// Returns false if a dry run couldn't lock the network, without which sockets can't be examined.
    [[nodiscard]] bool isLocked() const noexcept { return locked_; }
    /// Returns true if the tree has files of userspace or remote file systems.
    [[nodiscard]] bool usesServers() const noexcept;

    /// Returns the processes whose pages the dump has written early.
    [[nodiscard]] const std::map<HostPid, memory::EarlyDump>& writtenEarly() const noexcept;

    /// Returns the security module (AppArmor, SELinux or Smack) whose labels this kernel shows.
    [[nodiscard]] task::LabelModule labelModule() const noexcept { return labelModule_; }

    /// Calls namespaces::NamespaceDump::prepareKill() of all namespace kinds before criu kills the tree. Throws Error.
    void prepareKill() { namespaces_.prepareKill(); }
    /// Calls namespaces::NamespaceDump::release() of all namespace kinds. Call it when the images are complete.
    void release(model::FinalState state) { namespaces_.release(state); }

private:
    FrozenPhase& frozen_;
    const GuardedFiles& guardedFiles_;
    const task::LabelModule labelModule_;
    DumpNamespaces namespaces_;
    std::unique_ptr<RollbackStep> unlock_;
    std::unique_ptr<EarlyPages> earlyPages_;
    bool mayInject_ = false;
    bool locked_ = false;
};

}  // namespace criu::engine
