// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/engine/fwd.hpp"
#include "criu/namespaces/namespace_restores.hpp"

namespace criu::engine {

/// Returns the part of the network lock's table name that identifies the dump.
[[nodiscard]] std::string networkLockName(const RestoreImages& content);

/// Makes the restore halves of the namespace kinds that the images need. Throws Error if a namespace can't be restored.
/// Doesn't use plan.namespaces, because the constructor of `plan` initializes it with the result. `plan` must outlive
/// the result.
[[nodiscard]] namespaces::NamespaceRestores planNamespaces(PlannedRestore& plan);

}  // namespace criu::engine
