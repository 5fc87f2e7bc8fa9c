// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <string_view>
#include <vector>

namespace criu::engine {

/// Runs `keep`, which must not return, in a new process that is an orphan: criu's parent would wait for a child of
/// criu's, and criu for it. It has all that the caller has. Throws Error if there can't be one; `name`: what it is, for
/// messages.
void createDaemon(std::string_view name, const std::function<void()>& keep);

/// Standard streams of this process lead nowhere from now on, except those whose descriptors are spared. Throws Error.
void closeStandardStreams(const std::vector<int>& spared = {});

/// For a fresh process that outlives the command: it has no session, directory, handled or blocked signal of that, and
/// may open as many files as the limits allow. Its descriptors are its own matter. Throws Error.
void detachFromCommand();

}  // namespace criu::engine
