// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

#include "criu/base/ids.hpp"

namespace criu::files {

/// Returns the process whose directory in /proc contains a path. Returns nullopt for other paths.
[[nodiscard]] inline std::optional<TreePid> processOfPath(std::string_view path) noexcept {
    constexpr std::string_view kProc = "/proc/";
    if (!path.starts_with(kProc))
        return std::nullopt;
    path.remove_prefix(kProc.size());
    pid_t pid = 0;
    const auto [end, failure] = std::from_chars(path.data(), path.data() + path.size(), pid);
    if (failure != std::errc{} || pid <= 0 || (end != path.data() + path.size() && *end != '/'))
        return std::nullopt;
    return TreePid(pid);
}

}  // namespace criu::files
