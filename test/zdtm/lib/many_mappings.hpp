// SPDX-License-Identifier: GPL-2.0-only
// Memory that takes a restore long.
#pragma once

namespace zdtm {

// Makes about 20,000 permanent mappings. Neighbours have different protections, so the kernel doesn't merge them.
void make_many_mappings();

}  // namespace zdtm
