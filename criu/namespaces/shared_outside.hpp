// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::namespaces {

struct DumpInputs;

/// A restore makes all namespaces anew that processes are in but the root isn't. Whoever shares one with the outside
/// would come back apart from that, in a copy. Throws Error for mount and network namespaces that somebody else is in,
/// too, or that have a name, and warns of others; of all if the tree goes on.
void requireUnsharedOutside(const DumpInputs& inputs);

}  // namespace criu::namespaces
