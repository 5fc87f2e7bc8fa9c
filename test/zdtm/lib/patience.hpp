// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace zdtm {

// Limit of all waits in milliseconds. It also covers a busy machine. The runner waits a little longer, so it shows the
// failure message of the program.
inline constexpr int kPatience = 50'000;

}  // namespace zdtm
