// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace criu::kernel {

/// File that keeps found features between runs. Its first line identifies the boot, the kernel and the privileges of
/// the probes. Then follow one name per line, and "end".

/// Returns "/run/criu.features" for root, else "criu.features" in $XDG_RUNTIME_DIR; empty if that is unset.
[[nodiscard]] std::string featureCachePath();

/// Returns the first line of a valid file: format version, boot id, kernel release, user, capabilities, user
/// namespace, seccomp mode. Throws Error if /proc can't be read.
[[nodiscard]] std::string featureCacheKey();

/// Returns the names in a cache file's text; nullopt unless the text is complete and has this key.
[[nodiscard]] std::optional<std::vector<std::string_view>> parseFeatureCache(std::string_view text,
                                                                             std::string_view key);

/// Reads the file; nullopt if it doesn't exist, or isn't a regular file of the effective user with mode 0600.
[[nodiscard]] std::optional<std::string> readFeatureCache(const std::string& path);

/// Replaces the file atomically. Throws Error.
void writeFeatureCache(const std::string& path, std::string_view key, const std::vector<std::string_view>& names);

}  // namespace criu::kernel
