// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>

#include "criu/base/mapping.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/kernel/fd_store.hpp"

namespace criu::engine {

/// Word of shared memory by which one write commits a restore in all processes.
///
/// While criu lives, only criu uses the word. If criu is killed, each process reads the word: before commit(), the
/// process ends; afterwards, it continues by itself. Restored processes can't change the word, because they map it from
/// a descriptor that is open only for reading.
class CommitWord {
public:
    /// Creates the word. Throws Error.
    CommitWord();

    /// Moves the descriptor to the service range.
    void inherit(kernel::FdStore& store);
    /// Maps the word in a restored process, in one page at `at`. Throws Error.
    void mapAt(std::uint64_t at) const;
    /// Commits the restore. Only the coordinator calls it.
    void commit() noexcept;

private:
    UniqueFd reading_;
    Mapping mapping_;
};

}  // namespace criu::engine
