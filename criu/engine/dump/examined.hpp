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

/// The second phase of a dump: everything that can't be dumped has been refused, what the tree has around it is known,
/// and nothing from outside reaches it any more: the network is locked, devices have been told. Some pages may have
/// been written while drivers were at work.
class ExaminedPhase {
public:
    /// Throws Error, naming what can't be dumped and whose it is. Both arguments outlive this object.
    ExaminedPhase(FrozenPhase& frozen, const GuardedFiles& answered);
    ~ExaminedPhase();
    ExaminedPhase(const ExaminedPhase&) = delete;
    ExaminedPhase& operator=(const ExaminedPhase&) = delete;

    [[nodiscard]] FrozenPhase& frozen() const noexcept { return frozen_; }
    [[nodiscard]] DumpNamespaces& namespaces() noexcept { return namespaces_; }
    [[nodiscard]] const namespaces::DumpNsContext& surroundings() const noexcept { return namespaces_.surroundings(); }

    [[nodiscard]] const GuardedFiles& answered() const noexcept { return guardedFiles_; }

    /// Processes whose pages are written.
    [[nodiscard]] const std::map<HostPid, memory::EarlyDump>& writtenEarly() const noexcept;

    /// Whose labels this kernel shows.
    [[nodiscard]] task::LabelModule labelModule() const noexcept { return labelModule_; }

    /// The images are complete: see namespaces::NamespaceDump::release().
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
