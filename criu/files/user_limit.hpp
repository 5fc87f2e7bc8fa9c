// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

#include "criu/base/error.hpp"

namespace criu::files {

/// Throws Error with the errno value `code`. If `code` is `atLimit`, criu's user has as many objects as `sysctl`
/// allows, and a hint names this sysctl. The objects count for criu's user, because criu creates them.
[[noreturn]] inline void failAtLimit(int code, int atLimit, const std::string& what, std::string_view sysctl) {
    Error error(code, what);
    if (code == atLimit)
        error.addHint(fmt::format("raise the sysctl {}, or close such files of the user of criu", sysctl));
    throw error;
}

}  // namespace criu::files
