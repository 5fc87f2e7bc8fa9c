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

/// The last phase of a dump: the images are a checkpoint, with --background only when conclude() has returned. If
/// conclude() fails while the tree goes on, they aren't any more.
class CompletePhase {
public:
    /// Writes what is known only now: the tree, and last of all images the inventory. Throws Error.
    explicit CompletePhase(CapturedPhase& captured);
    ~CompletePhase();
    CompletePhase(const CompletePhase&) = delete;
    CompletePhase& operator=(const CompletePhase&) = delete;

    /// Lets the tree go on, leaves it stopped, or ends it, as Options::finalState says. Returns the exit status of
    /// criu: that of a post-dump script, which asks for the tree to go on by failing, else 0. Throws Error.
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
    bool stays_ = false;  ///< the images, whatever happens
};

}  // namespace criu::engine
