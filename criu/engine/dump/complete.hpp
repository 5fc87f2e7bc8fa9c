// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

namespace criu {
class ImageDir;
}

namespace criu::model {
enum class FinalState : std::uint8_t;
}

namespace criu::engine {

class CapturedPhase;
class ExaminedPhase;
class FrozenPhase;
class FrozenTree;

/// Writes the image of the process tree.
void writeTree(FrozenTree& tree, const ImageDir& images);

/// Fourth phase of a dump: the images are complete, including the inventory. With --background, the images are complete
/// when conclude() has returned. If conclude() fails and the tree continues, the destructor removes the inventory.
class CompletePhase {
public:
    /// Writes the process tree image, then the inventory as the last image. With --background, conclude() writes the
    /// inventory. Throws Error.
    explicit CompletePhase(CapturedPhase& captured);
    ~CompletePhase();
    CompletePhase(const CompletePhase&) = delete;
    CompletePhase& operator=(const CompletePhase&) = delete;

    /// Resumes, stops or kills the tree according to Options::finalState. Returns the exit status of the post-dump
    /// scripts. If this status isn't 0, resumes the tree in any case. Throws Error.
    int conclude();

private:
    void completeImages();
    int resumeFirst();
    int resumeLast();
    void resume(model::FinalState state);
    void end();
    void keep() noexcept;
    void concludeTracking();

    CapturedPhase& captured_;
    ExaminedPhase& examined_;
    FrozenPhase& frozen_;
    bool stays_ = false;  ///< true if the destructor keeps the inventory
};

}  // namespace criu::engine
