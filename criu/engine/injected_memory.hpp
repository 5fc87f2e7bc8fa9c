// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/base/journal.hpp"

namespace criu::engine {

/// Searches the process of a line "injects" (pie::recordInjection()) for a blob that a killed dump has left there, and
/// unmaps it with its data. Stops the process for this. Returns false if the process has ended or contains no blob, and
/// if it still executes code of criu after two seconds, because it is stopped. Throws Error if the process can't be
/// frozen.
bool unmapInjection(const JournalLine& line);

}  // namespace criu::engine
