// SPDX-License-Identifier: GPL-2.0-only
// A FUSE file system of files in memory, for deleted files. As programs of libfuse do, its server forgets a file that
// has neither a name nor an open descriptor, and gives each name an inode number of its own.
#pragma once

#include <atomic>

namespace zdtm {

// Serves regular files until `ending`, or until the file system is gone. `server`: what mount_fuse() returned.
void serve_files(int server, const std::atomic<bool>& ending);

}  // namespace zdtm
