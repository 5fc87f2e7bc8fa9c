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

/// Third phase of a dump: the images contain processes, memory, files and namespaces of the tree.
class CapturedPhase {
public:
    /// Writes the images of the tree. Throws Error, also after a stop request.
    explicit CapturedPhase(ExaminedPhase& examined);
    ~CapturedPhase();
    CapturedPhase(const CapturedPhase&) = delete;
    CapturedPhase& operator=(const CapturedPhase&) = delete;

    [[nodiscard]] ExaminedPhase& examined() const noexcept { return examined_; }
    /// Returns true if a process had the kernel's uprobes mapping, which the images don't contain.
    [[nodiscard]] bool sawUprobes() const noexcept;
    /// Returns the extensions that the images use, for the inventory. CRIU 4.2 can't read images with extensions.
    [[nodiscard]] std::vector<std::string> extensions() const;

    /// Writes the memory snapshots of --background while the tree runs again. Throws Error.
    void captureSnapshots();

    /// Calls files::FileKindDump::prepareKill() of all fd kinds before criu kills the tree. Throws Error.
    void prepareKill();
    /// Reverts the dump's changes to files if the processes continue. Keeps changes that the images need, such as link
    /// remaps. Call it when the images are complete.
    void release(model::FinalState state) noexcept;

private:
    class Capture;

    ExaminedPhase& examined_;
    std::unique_ptr<Capture> capture_;
};

}  // namespace criu::engine
