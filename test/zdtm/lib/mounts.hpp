// SPDX-License-Identifier: GPL-2.0-only
// Mount namespaces of tests.
#pragma once

#include <string>
#include <vector>

namespace zdtm {

// A mount namespace of the calling process' own, which shares nothing with that it came from.
void enter_new_mounts();

// The same, with a mount of the old root as root, on which nothing else is mounted; all old mounts are gone. The
// current directory stays.
void enter_new_root();

// Creates directories as needed, and mounts a file system there.
void mount_on(const std::string& path, const char* type, const std::string& options = "", unsigned long flags = 0,
              const char* source = "none");

// Another mount of a directory or file.
void bind_on(const std::string& from, const std::string& path);

// A new root with /proc and a /dev of its own, in which nothing is but /dev/null.
void enter_small_root();

// Sets flags of one mount: MS_SHARED, MS_SLAVE, MS_PRIVATE, MS_UNBINDABLE.
void propagate(const std::string& path, unsigned long kind);

// All mounts of the calling process, a line each in an order of its own, with numbers that mean the same before and
// after a restore: what is mounted, where, on which other, with what flags, and who gets events from whom.
std::vector<std::string> mount_lines();

// Requires the lines to be the same.
void check_mounts(const std::vector<std::string>& before);

}  // namespace zdtm
