// SPDX-License-Identifier: GPL-2.0-only
// Mount namespaces of tests.
#pragma once

#include <string>
#include <vector>

namespace zdtm {

// Moves the calling process to a new mount namespace with private propagation.
void enter_new_mounts();

// Moves the calling process to a new mount namespace whose only mount is the file system of the old root. The working
// directory stays.
void enter_new_root();

// Creates directories as needed, and mounts a file system there.
void mount_on(const std::string& path, const char* type, const std::string& options = "", unsigned long flags = 0,
              const char* source = "none");

// Bind-mounts a directory or file.
void bind_on(const std::string& from, const std::string& path);

// Changes to a new root with /proc, and with a /dev that has only /dev/null.
void enter_small_root();

// Sets the propagation of one mount: MS_SHARED, MS_SLAVE, MS_PRIVATE, MS_UNBINDABLE.
void propagate(const std::string& path, unsigned long kind);

// Returns a line for each mount of the calling process: source, mount point, parent, flags, peers and masters. Ids are
// replaced, so that lines before and after a restore compare.
std::vector<std::string> mount_lines();

// Requires mount_lines() to return the same lines.
void check_mounts(const std::vector<std::string>& before);

}  // namespace zdtm
