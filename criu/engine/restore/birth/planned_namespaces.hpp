// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/engine/fwd.hpp"
#include "criu/namespaces/namespace_restores.hpp"

namespace criu::engine {

/// Returns the part of the network lock's table name that identifies the dump.
[[nodiscard]] std::string networkLockName(const RestoreImages& content);

/// Creates the restore halves of the namespace kinds that the images need. `plan` outlives the result, and its member
/// `namespaces` isn't used. Throws Error if a namespace can't be restored.
[[nodiscard]] namespaces::NamespaceRestores planNamespaces(PlannedRestore& plan);

}  // namespace criu::engine
