// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace criu::engine {

struct Run;

/// Says that clients can connect: to listeners of stages, and by one zero byte to --status-fd, which is closed then.
/// Throws Error.
void announceReady(Run& run);

/// The second half of it: by one zero byte to a descriptor, which is closed then; -1: to none. Throws Error.
void writeReady(int statusFd);

/// Goes on in a child, in a session of its own and without standard streams; the parent writes the pid file. True in
/// the parent, whose work is done. Throws Error.
[[nodiscard]] bool daemonize(const Run& run, const char* title);

}  // namespace criu::engine
