// SPDX-License-Identifier: GPL-2.0-only
// Memory that takes long to restore.
#pragma once

namespace zdtm {

// Some 20,000 mappings that stay for ever: neighbours of different rights can't be one.
void make_many_mappings();

}  // namespace zdtm
