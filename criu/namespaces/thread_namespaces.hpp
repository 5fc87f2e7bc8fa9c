// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::namespaces {

struct SeenProcess;

/// Throws Error for a thread that is in other namespaces than its process, or creates its children in others. The
/// kernel permits that (unshare(2), setns(2)), but images have one namespace of each kind for a process.
void requireThreadsInProcessNs(const SeenProcess& process);

}  // namespace criu::namespaces
