// SPDX-License-Identifier: GPL-2.0-only
#pragma once

namespace zdtm {

// Milliseconds: what hasn't happened by then never will. So long also on a machine that is busy with much else; the
// runner waits a little longer for the end of a program, so that the program's own words are what it tells.
inline constexpr int kPatience = 50'000;

}  // namespace zdtm
