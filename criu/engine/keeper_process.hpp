// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <vector>

namespace criu::engine {

/// Standard streams of this process lead nowhere from now on, except those whose descriptors are spared. Throws Error.
void closeStandardStreams(const std::vector<int>& spared = {});

/// For a fresh process that outlives the command: it has no session, directory, handled or blocked signal of that, and
/// may open as many files as the limits allow. Its descriptors are its own matter. Throws Error.
void leaveCommand();

}  // namespace criu::engine
