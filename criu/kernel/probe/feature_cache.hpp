// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace criu::kernel {

/// Functions for the file in which criu stores the features that it has found, for later runs. The first line
/// identifies the boot, the kernel and criu's privileges. Then each line contains one feature name, and the last line
/// is "end".

/// Returns "/run/criu.features" for root. For other users, returns "criu.features" in $XDG_RUNTIME_DIR, or an empty
/// path if that variable is unset.
[[nodiscard]] std::string featureCachePath();

/// Returns the first line that a valid file must have: format version, boot id, kernel release, user, capabilities,
/// user namespace and seccomp mode. Throws Error if criu can't read /proc.
[[nodiscard]] std::string featureCacheKey();

/// Returns the feature names in the text of the file; nullopt if the text is incomplete or has another key.
[[nodiscard]] std::optional<std::vector<std::string_view>> parseFeatureCache(std::string_view text,
                                                                             std::string_view key);

/// Reads the file; nullopt if it doesn't exist, or isn't a regular file of the effective user with mode 0600.
[[nodiscard]] std::optional<std::string> readFeatureCache(const std::string& path);

/// Replaces the file atomically. Throws Error.
void writeFeatureCache(const std::string& path, std::string_view key, const std::vector<std::string_view>& names);

}  // namespace criu::kernel
