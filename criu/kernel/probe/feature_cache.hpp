// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace criu::kernel {

/// The file in which found features outlive a run. It is text: a line that identifies the boot, kernel, and privileges
/// under which probes ran, then a name per line, then "end".

/// "/run/criu.features" for root; else "criu.features" in $XDG_RUNTIME_DIR; empty if there is no such place.
[[nodiscard]] std::string featureCachePath();

/// First line of a file that is valid now: our version of the format, boot id, kernel release, user, capabilities, user
/// namespace, seccomp mode. Throws Error if /proc can't be read.
[[nodiscard]] std::string featureCacheKey();

/// Names in a cache file's text; nothing unless it is whole and has this key.
[[nodiscard]] std::optional<std::vector<std::string_view>> parseFeatureCache(std::string_view text,
                                                                             std::string_view key);

/// Text of the file; nothing if there is none, or it isn't a regular file of our own that nobody else may write or read
/// (owner: effective user, mode 0600).
[[nodiscard]] std::optional<std::string> readFeatureCache(const std::string& path);

/// Replaces the file atomically. Throws Error.
void writeFeatureCache(const std::string& path, std::string_view key, const std::vector<std::string_view>& names);

}  // namespace criu::kernel
