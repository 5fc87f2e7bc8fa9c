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
    /// Captures the tree. Throws Error, also when a stop is requested.
    explicit CapturedPhase(ExaminedPhase& examined);
    ~CapturedPhase();
    CapturedPhase(const CapturedPhase&) = delete;
    CapturedPhase& operator=(const CapturedPhase&) = delete;

    [[nodiscard]] ExaminedPhase& examined() const noexcept { return examined_; }
    /// Returns true if a process had the uprobes mapping, which the dump leaves out.
    [[nodiscard]] bool sawUprobes() const noexcept;
    /// Returns the extensions that the images use; see memory::PageSinks::extensions() and namespaces::DumpOutputs.
    [[nodiscard]] std::vector<std::string> extensions() const;

    /// Writes the memory snapshots of --background. Called when the tree runs again. Throws Error.
    void captureSnapshots();

    /// Calls files::FileKindDump::prepareKill() of all kinds. Throws Error.
    void prepareKill();
    /// Reverts changes to files of processes that continue. Keeps what the images need, such as link remaps. Called
    /// when the images are complete.
    void release(model::FinalState state) noexcept;

private:
    class Capture;

    ExaminedPhase& examined_;
    std::unique_ptr<Capture> capture_;
};

}  // namespace criu::engine
