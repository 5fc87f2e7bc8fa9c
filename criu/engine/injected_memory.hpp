// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "criu/base/journal.hpp"

namespace criu::engine {

struct FrozenTask;

/// Adds a line "injects" to the journal: a process that gets the interpreter (pie::interpreterBlob()) with memory for
/// data after it. Call it before the interpreter is mapped. `dataSize`: size of this memory in bytes.
void recordInjection(const FrozenTask& task, std::uint64_t dataSize, Journal& journal) noexcept;

/// Searches the process of a line "injects" for an interpreter that a killed dump has left there, and unmaps it with
/// its data. Stops the process for this. Returns false if the process has ended or contains no interpreter, and if it
/// still executes code of criu after two seconds, because it is stopped. Throws Error if the process can't be frozen.
bool unmapInjection(const JournalLine& line);

}  // namespace criu::engine
