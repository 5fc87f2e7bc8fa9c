// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace criu::model {
enum class FinalState : std::uint8_t;
}

namespace criu::engine {

class CapturedPhase;
class ExaminedPhase;
class FrozenPhase;

/// Fourth phase of a dump: the images are a checkpoint. With --background that is so only when conclude() has returned.
/// If conclude() fails and the tree continues, the inventory is removed.
class CompletePhase {
public:
    /// Writes the tree, then the inventory as the last image. With --background conclude() writes the inventory. Throws
    /// Error.
    explicit CompletePhase(CapturedPhase& captured);
    ~CompletePhase();
    CompletePhase(const CompletePhase&) = delete;
    CompletePhase& operator=(const CompletePhase&) = delete;

    /// Resumes, stops or kills the tree, as Options::finalState says. A failed post-dump script makes the tree
    /// continue. Returns the exit status of that script, else 0. Throws Error.
    int conclude();

private:
    void completeImages();
    int resumeFirst();
    int resumeLast();
    void resume(model::FinalState state);
    void end();
    void concludeTracking();

    CapturedPhase& captured_;
    ExaminedPhase& examined_;
    FrozenPhase& frozen_;
    bool stays_ = false;  ///< true if the images are kept even if a later step fails
};

}  // namespace criu::engine
