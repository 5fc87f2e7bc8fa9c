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

/// Semaphore undo value of one process.
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

/// Reads all semaphore sets of the namespace with their values. Throws Error.
[[nodiscard]] std::vector<SemaphoreSet> readSemaphoreSets();

/// Returns the ids of sets that semop(2) has changed at least once, because only these sets can have undo values.
/// Throws Error.
[[nodiscard]] std::vector<int> listUsedSemaphoreSets();

/// Returns the values of a set. Returns nullopt if the set was removed or the caller may not read it.
[[nodiscard]] std::optional<std::vector<std::uint16_t>> readSemaphoreValues(int id);

void writeSemaphoreSets(ImageWriter& image, const std::vector<SemaphoreSet>& sets);

/// Reads an image, and throws Error if its content is invalid.
[[nodiscard]] std::vector<SemaphoreSet> parseSemaphoreSets(ImageReader& image);

/// Creates a semaphore set with its values and owner. Throws Error.
void makeSemaphoreSet(const SemaphoreSet& set);

/// Gives the calling process the undo values of a dumped process. `pid`: pid of the dumped process. Throws Error.
void applySemUndo(std::span<const SemaphoreSet> sets, TreePid pid);

}  // namespace criu::namespaces
