// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

#include "criu/base/error.hpp"

namespace criu::files {

/// Throws Error with the errno value `code`. If it is `atLimit`, which the kernel returns where a user has as many
/// objects of a kind as a sysctl allows, a hint names the sysctl. criu's user counts then, who creates the file.
[[noreturn]] inline void failAtLimit(int code, int atLimit, const std::string& what, std::string_view sysctl) {
    Error error(code, what);
    if (code == atLimit)
        error.addHint(fmt::format("raise the sysctl {}, or close such files of the user of criu", sysctl));
    throw error;
}

}  // namespace criu::files
