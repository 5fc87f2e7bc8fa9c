// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/sem_undo.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "criu/base/error.hpp"

namespace criu::namespaces {
namespace {

constexpr int kHighest = 32767;  // SEMVMX and SEMAEM: maximum of values, undo values and operations
constexpr std::size_t kTogether = 16;

using Operations = std::vector<sembuf>;

void add(Operations& out, std::uint16_t index, int amount, int flags) {
    if (amount != 0)
        out.push_back({index, static_cast<short>(amount), static_cast<short>(flags | IPC_NOWAIT)});
}

/// Adds operations that fail with ERANGE if the undo value is at least `least`, which must be positive. After the
/// operations, the value of the semaphore would be below 32767.
void addAbove(Operations& out, std::uint16_t index, int value, int least) {
    const int amount = kHighest + 1 - least;
    add(out, index, std::max(amount - value, 0), 0);
    add(out, index, -amount, SEM_UNDO);
}

/// Adds operations that fail with ERANGE if the undo value is at most -`least`. After the operations, the value of the
/// semaphore wouldn't be 0.
void addBelow(Operations& out, std::uint16_t index, int value, int least) {
    const int amount = kHighest + 2 - least;
    add(out, index, -value, 0);
    add(out, index, std::min(amount, kHighest), SEM_UNDO);
    if (amount > kHighest) {
        add(out, index, -kHighest, 0);
        add(out, index, amount - kHighest, SEM_UNDO);
    }
}

enum class Sign { Positive, Negative };

/// Test of the undo values of one or more semaphores. Its last operation always fails, so the semop(2) call changes
/// nothing.
class UndoTest {
public:
    explicit UndoTest(Sign sign) : sign_(sign) {}

    void about(std::uint16_t index, std::uint16_t value, int least) {
        if (sign_ == Sign::Positive)
            addAbove(operations_, index, value, least);
        else
            addBelow(operations_, index, value, least);
        last_ = index;
    }

    /// Returns true if at least one undo value reaches its `least`. Returns nullopt if the kernel doesn't permit the
    /// test.
    std::optional<bool> run(const SemaphoreProbe& probe) {
        if (sign_ == Sign::Positive)
            add(operations_, last_, -kHighest, 0);
        else
            // Waits for the value 0, and so fails, because the value isn't 0.
            operations_.push_back({last_, 0, IPC_NOWAIT});
        const long result = probe(operations_);
        if (result == -ERANGE)
            return true;
        if (result == -EAGAIN)
            return false;
        if (result == -EACCES || result == -E2BIG)
            return std::nullopt;
        failWith(static_cast<int>(-result), "find the adjustments of a semaphore");
    }

private:
    Sign sign_;
    std::uint16_t last_ = 0;
    Operations operations_;
};

std::optional<bool> isAtLeast(Sign sign, std::uint16_t index, std::uint16_t value, int least,
                              const SemaphoreProbe& probe) {
    UndoTest test(sign);
    test.about(index, value, least);
    return test.run(probe);
}

/// Returns the amount of a semaphore's undo value with sign `sign`; 0 if the undo value has the other sign or is zero.
std::optional<int> sizeOf(Sign sign, std::uint16_t index, std::uint16_t value, const SemaphoreProbe& probe) {
    int known = 0;
    int beyond = kHighest + (sign == Sign::Negative ? 2 : 1);
    while (beyond - known > 1) {
        // Tries 1 first, because most undo values are 1.
        const int middle = known == 0 ? 1 : known == 1 ? 2 : known + (beyond - known) / 2;
        const auto larger = isAtLeast(sign, index, value, middle, probe);
        if (!larger)
            return std::nullopt;
        (*larger ? known : beyond) = middle;
    }
    return known;
}

}  // namespace

std::optional<std::vector<SemUndoValue>> findSemUndo(std::span<const std::uint16_t> values,
                                                     const SemaphoreProbe& probe) {
    std::vector<SemUndoValue> found;
    for (const Sign sign : {Sign::Positive, Sign::Negative}) {
        for (std::size_t first = 0; first < values.size(); first += kTogether) {
            const std::size_t end = std::min(first + kTogether, values.size());
            UndoTest any(sign);
            for (std::size_t i = first; i < end; ++i)
                any.about(static_cast<std::uint16_t>(i), values[i], 1);
            const auto some = any.run(probe);
            if (!some)
                return std::nullopt;
            for (std::size_t i = first; *some && i < end; ++i) {
                const auto index = static_cast<std::uint16_t>(i);
                const auto size = sizeOf(sign, index, values[i], probe);
                if (!size)
                    return std::nullopt;
                if (*size != 0)
                    found.push_back({index, sign == Sign::Positive ? *size : -*size});
            }
        }
    }
    return found;
}

std::vector<sembuf> operationsFor(const SemUndoValue& adjustment, std::uint16_t value) {
    const int size = adjustment.amount < 0 ? -adjustment.amount : adjustment.amount;
    const bool up = value + size <= kHighest;
    if (size == 0 || size > kHighest || (!up && value < size))
        fail("a semaphore of value {} can't be adjusted by {}", value, adjustment.amount);
    // The kernel stores the negated sum of the operations as the undo value.
    const bool undoUp = adjustment.amount < 0;
    Operations out;
    add(out, adjustment.index, up ? size : -size, up == undoUp ? SEM_UNDO : 0);
    add(out, adjustment.index, up ? -size : size, up == undoUp ? 0 : SEM_UNDO);
    return out;
}

}  // namespace criu::namespaces
