// SPDX-License-Identifier: GPL-2.0-only
#pragma once

/// Landlock (landlock(7)): detection of the feature, and a domain for processes of criu that need no files.
namespace criu::kernel {

/// Returns true if the kernel has Landlock and Landlock is enabled.
[[nodiscard]] bool hasLandlock() noexcept;

/// Puts the calling thread into a Landlock domain without any right on files, and without the right to connect or bind
/// TCP sockets (Linux 6.7) or to signal processes outside of the domain (Linux 6.12). The thread must have
/// no_new_privs. Returns false if the kernel has no Landlock. Throws Error.
bool enterEmptyDomain();

}  // namespace criu::kernel
