// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "criu/namespaces/namespace_restore.hpp"

namespace criu::namespaces {

/// The user namespace of a restored tree (user_namespaces(7)). Null
/// if there is nothing to do.
[[nodiscard]] std::unique_ptr<NamespaceRestore> makeUserRestore(const RestoreInputs& inputs);

}  // namespace criu::namespaces
