// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/sem.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

/// What the kernel will add to semaphores when a process ends (SEM_UNDO of semop(2)). Nothing tells these adjustments,
/// but they have limits: an operation that would go beyond one fails with ERANGE. So they are found by operations that
/// fail in any case, and thus change nothing. All operations here are for one call.
namespace criu::namespaces {

/// An adjustment of the semaphore at `index` of a set.
struct SemUndoValue {
    std::uint16_t index = 0;
    int amount = 0;  ///< -32768 to 32767, never 0
    friend bool operator==(const SemUndoValue&, const SemUndoValue&) = default;
};

/// Makes a semop(2) call in the process in question; the kernel's result, 0 or a negative errno value.
using SemaphoreProbe = std::function<long(std::span<const sembuf>)>;

/// All adjustments that a process has for a set with these values, which mustn't change meanwhile. Nothing if the
/// kernel doesn't let the process tell: it may not change the set, so it has none, or calls may have too few
/// operations. Throws Error on any other result.
[[nodiscard]] std::optional<std::vector<SemUndoValue>> findSemUndo(std::span<const std::uint16_t> values,
                                                                   const SemaphoreProbe& probe);

/// Operations that give the calling process an adjustment and leave the semaphore's value as it is. Throws Error if
/// there are none for these numbers.
[[nodiscard]] std::vector<sembuf> operationsFor(const SemUndoValue& adjustment, std::uint16_t value);

}  // namespace criu::namespaces
