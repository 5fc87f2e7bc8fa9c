// SPDX-License-Identifier: GPL-2.0-only
// A FUSE file system of a test's own, by the protocol of /dev/fuse itself. It has one file, which may be read.
#pragma once

#include <functional>
#include <string>

namespace zdtm {

inline constexpr char kFuseFile[] = "file";
inline constexpr char kFuseContent[] = "served";

// Mounts it on a directory, which should be none that the runner looks into, and returns the server's descriptor of
// /dev/fuse. Skips the test where that can't be done.
int mount_fuse(const std::string& path);

// Answers requests until none comes for so many milliseconds. False once the file system is gone. `answers`: takes one
// request only, and is asked about it (FUSE_FLUSH ...); if it says no the request is left without an answer for ever.
bool serve_fuse(int server, int pause, const std::function<bool(unsigned request)>& answers = nullptr);

}  // namespace zdtm
