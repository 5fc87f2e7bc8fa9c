// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace criu::model {
enum class FinalState : std::uint8_t;
}

namespace criu::engine {

class ExaminedPhase;

/// The third phase of a dump: all that can be read of the tree is in the images: processes, memory, files and
/// namespaces.
class CapturedPhase {
public:
    /// Throws Error, also as soon as a stop is requested.
    explicit CapturedPhase(ExaminedPhase& examined);
    ~CapturedPhase();
    CapturedPhase(const CapturedPhase&) = delete;
    CapturedPhase& operator=(const CapturedPhase&) = delete;

    [[nodiscard]] ExaminedPhase& examined() const noexcept { return examined_; }
    /// Some process had an area of uprobes, which was left out.
    [[nodiscard]] bool sawUprobes() const noexcept;
    /// What the images have beyond version 2: see memory::PageSinks::extensions(), namespaces::DumpOutputs.
    [[nodiscard]] std::vector<std::string> extensions() const;

    /// With --background, when the tree runs again: memory of which there are only snapshots so far. Throws Error.
    void captureSnapshots();

    /// The images are complete: files of processes that go on are as they were, what the images need of them stays.
    void release(model::FinalState state) noexcept;

private:
    class Capture;

    ExaminedPhase& examined_;
    std::unique_ptr<Capture> capture_;
};

}  // namespace criu::engine
