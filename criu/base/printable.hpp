// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu {

/// Returns true if the text is valid UTF-8 without control characters (below 0x20, 0x7f, and 0x80 to 0x9f). Control
/// characters break log lines, and characters from 0x80 to 0x9f begin escape sequences.
[[nodiscard]] bool isPrintable(std::string_view text) noexcept;

/// Returns the text with \xNN for each byte that isn't printable. Tasks choose the names of their files, and such a
/// name must not add lines to a log or send escape sequences to a terminal.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace criu
