// SPDX-License-Identifier: GPL-2.0-only
// What tests of network namespaces need.
#pragma once

#include <string>

namespace zdtm {

// A new network namespace with its loopback device up. Skips the test where there is no ip(8).
void enter_new_network();

// What a shell command prints; the test fails if the command does.
std::string output_of(const std::string& command);

}  // namespace zdtm
