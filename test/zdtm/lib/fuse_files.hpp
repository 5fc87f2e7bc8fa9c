// SPDX-License-Identifier: GPL-2.0-only
// A FUSE file system of files in memory, for deleted files. As with libfuse, its server drops a file without names and
// open descriptors, and gives each name an inode number of its own.
#pragma once

#include <atomic>

namespace zdtm {

// Serves regular files until `ending` is set or the file system is unmounted. `server` is the result of mount_fuse().
void serve_files(int server, const std::atomic<bool>& ending);

}  // namespace zdtm
