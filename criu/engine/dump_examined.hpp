// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <set>

#include "criu/engine/dump_namespaces.hpp"

namespace criu::engine {

class AnswerWatch;
class FrozenPhase;

/// The second phase of a dump: everything that can't be dumped has been refused, what the tree has around it is known,
/// and nothing from outside reaches it any more: the network is locked, devices have been told.
class ExaminedPhase {
public:
    /// Throws Error, naming what can't be dumped and whose it is.
    explicit ExaminedPhase(FrozenPhase& frozen);
    ~ExaminedPhase();
    ExaminedPhase(const ExaminedPhase&) = delete;
    ExaminedPhase& operator=(const ExaminedPhase&) = delete;

    [[nodiscard]] FrozenPhase& frozen() const noexcept { return frozen_; }
    [[nodiscard]] DumpNamespaces& namespaces() noexcept { return namespaces_; }
    [[nodiscard]] const namespaces::DumpSurroundings& surroundings() const noexcept {
        return namespaces_.surroundings();
    }

    /// File systems that the tree uses for which a process answers.
    [[nodiscard]] const std::set<dev_t>& served() const noexcept { return served_; }

    /// The images are complete: see namespaces::NamespaceDump::release().
    void release(model::FinalState state) { namespaces_.release(state); }

private:
    [[nodiscard]] std::unique_ptr<AnswerWatch> watchAnswers();
    void undo();

    FrozenPhase& frozen_;
    std::set<dev_t> served_;
    std::atomic<DumpNamespaces*> locked_{nullptr};  ///< what an AnswerWatch unlocks
    std::unique_ptr<AnswerWatch> answers_;          ///< null: whatever the tree uses, the kernel alone answers for it
    DumpNamespaces namespaces_;
};

}  // namespace criu::engine
