// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/namespaces/ipc/sem_undo.hpp"
#include "images/ipc-desc.hpp"

/// System V semaphore sets (semget(2)) of the calling thread's IPC namespace.
namespace criu::namespaces {

/// A semaphore undo value of one process.
struct HeldSemUndo {
    TreePid pid;
    SemUndoValue adjustment;
    friend bool operator==(const HeldSemUndo&, const HeldSemUndo&) = default;
};

struct SemaphoreSet {
    IpcDescEntry desc;
    std::vector<std::uint16_t> values;
    std::vector<HeldSemUndo> adjustments;

    [[nodiscard]] int id() const noexcept { return static_cast<int>(desc.id); }
};

/// Throws Error.
[[nodiscard]] std::vector<SemaphoreSet> readSemaphoreSets();

/// Returns the ids of sets that semop(2) has changed at least once. A process can't have undo values of other sets.
/// Throws Error.
[[nodiscard]] std::vector<int> listUsedSemaphoreSets();

/// Returns the values of a set; nothing if it was removed or the caller may not read it.
[[nodiscard]] std::optional<std::vector<std::uint16_t>> readSemaphoreValues(int id);

void writeSemaphoreSets(ImageWriter& image, const std::vector<SemaphoreSet>& sets);

/// Reads and checks an image.
[[nodiscard]] std::vector<SemaphoreSet> parseSemaphoreSets(ImageReader& image);

/// Throws Error.
void makeSemaphoreSet(const SemaphoreSet& set);

/// Sets the undo values of this pid for the calling process. Throws Error.
void applySemUndo(std::span<const SemaphoreSet> sets, TreePid pid);

}  // namespace criu::namespaces
