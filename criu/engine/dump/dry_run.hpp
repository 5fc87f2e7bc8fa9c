// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

class Guardian;
struct Run;

/// Makes the checks of a dump, prints a report to standard output, and reverts all changes. Writes images only to
/// memory, and notifies no listener. Returns the exit status: 0 if the dump would succeed as far as criu can know.
/// Throws Error, also after a stop request.
int dryRun(Run& run, Guardian& guardian);

}  // namespace criu::engine
