// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

#include "criu/namespaces/namespace_restores.hpp"

namespace criu::engine {

class PlannedRestore;
struct RestoreImages;

/// What stands in the name of the table of rules that locks the network.
[[nodiscard]] std::string networkLockName(const RestoreImages& content);

/// The restore halves of the kinds of namespaces that the images want. `plan` outlives them; of it everything is used
/// but what they are to become. Throws Error for what can't be restored.
[[nodiscard]] namespaces::NamespaceRestores planNamespaces(PlannedRestore& plan);

}  // namespace criu::engine
