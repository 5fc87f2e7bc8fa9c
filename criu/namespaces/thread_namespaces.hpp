// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::namespaces {

struct SeenProcess;

/// Throws Error for a thread that isn't in all namespaces of its process, or that has other namespaces for children.
/// The kernel permits this (unshare(2), setns(2)). But images contain only one namespace of each kind for a process.
void requireThreadsInProcessNs(const SeenProcess& process);

}  // namespace criu::namespaces
