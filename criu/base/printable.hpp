// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>

namespace criu {

/// Whether a terminal and whoever reads lines take the text as it is: valid UTF-8 without control characters (those
/// below 0x20, 0x7f, and 0x80 to 0x9f, which begin escape sequences as well).
[[nodiscard]] bool isPrintable(std::string_view text) noexcept;

/// The text with each byte of what isn't printable as \xNN. Names of files and processes are chosen by whoever is
/// dumped: they mustn't add lines to a log, nor send commands to the terminal of who reads it.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace criu
