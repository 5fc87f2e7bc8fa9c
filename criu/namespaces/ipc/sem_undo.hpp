// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/sem.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

/// Undo values that the kernel adds to semaphores when a process ends (SEM_UNDO of semop(2)). The kernel doesn't show
/// them. But it limits them: an operation that would exceed the limit fails with ERANGE. findSemUndo() tries operations
/// that fail in any case and so change nothing. All operations of a vector belong to one call.
namespace criu::namespaces {

/// Undo value of the semaphore at `index` of a set.
struct SemUndoValue {
    std::uint16_t index = 0;
    int amount = 0;  ///< -32768 to 32767, never 0
    friend bool operator==(const SemUndoValue&, const SemUndoValue&) = default;
};

/// Calls semop(2) in the examined process. Returns the kernel's result: 0 or a negative errno value.
using SemaphoreProbe = std::function<long(std::span<const sembuf>)>;

/// Returns all undo values of a process for a set with these values. The values mustn't change during the call. Returns
/// nothing if the kernel doesn't permit the test: the process may not change the set, so it has no undo values, or
/// SEMOPM is too low. Throws Error on any other result.
[[nodiscard]] std::optional<std::vector<SemUndoValue>> findSemUndo(std::span<const std::uint16_t> values,
                                                                   const SemaphoreProbe& probe);

/// Returns operations that give the calling process an undo value and leave the semaphore's value unchanged. Throws
/// Error if none exist for these numbers.
[[nodiscard]] std::vector<sembuf> operationsFor(const SemUndoValue& adjustment, std::uint16_t value);

}  // namespace criu::namespaces
