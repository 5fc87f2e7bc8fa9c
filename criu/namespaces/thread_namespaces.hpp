// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::namespaces {

struct SeenProcess;

/// Each thread may go to namespaces of its own (unshare(2), setns(2)), and images have one of each kind for a process.
/// Throws Error for a thread that isn't in those of its process, or has its children elsewhere.
void requireThreadsInProcessNs(const SeenProcess& process);

}  // namespace criu::namespaces
