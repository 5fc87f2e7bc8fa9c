// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/sem.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

/// Semaphore undo values, which the kernel adds to semaphores when a process ends (SEM_UNDO of semop(2)). The kernel
/// doesn't show an undo value. But an operation that would make an undo value exceed its limit fails with ERANGE. So
/// findSemUndo() tries operations, in calls that always fail and thus change nothing. All operations of one vector
/// belong to one call.
namespace criu::namespaces {

/// Undo value of the semaphore at `index` in a set.
struct SemUndoValue {
    std::uint16_t index = 0;
    int amount = 0;  ///< -32768 to 32767, never 0
    friend bool operator==(const SemUndoValue&, const SemUndoValue&) = default;
};

/// Function that calls semop(2) in the examined process. It returns the kernel's result: 0 or a negative errno value.
using SemaphoreProbe = std::function<long(std::span<const sembuf>)>;

/// Returns all undo values of a process for one set. `values`: values of the set, which must not change during the
/// call. Returns nullopt if the kernel doesn't permit the test, for one of two reasons. The process may not change the
/// set (then it has no undo values), or SEMOPM is too low. Throws Error on any other result.
[[nodiscard]] std::optional<std::vector<SemUndoValue>> findSemUndo(std::span<const std::uint16_t> values,
                                                                   const SemaphoreProbe& probe);

/// Returns operations that give the calling process an undo value and leave the semaphore's value unchanged. Throws
/// Error if no such operations exist.
[[nodiscard]] std::vector<sembuf> operationsFor(const SemUndoValue& adjustment, std::uint16_t value);

}  // namespace criu::namespaces
