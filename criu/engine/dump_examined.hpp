// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

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

    /// The images are complete: see namespaces::NamespaceDump::release().
    void release(model::FinalState state) { namespaces_.release(state); }

private:
    [[nodiscard]] static std::unique_ptr<AnswerWatch> watchAnswers(FrozenPhase& frozen);

    FrozenPhase& frozen_;
    std::unique_ptr<AnswerWatch> answers_;  ///< null: whatever the tree uses, the kernel alone answers for it
    DumpNamespaces namespaces_;
};

}  // namespace criu::engine
