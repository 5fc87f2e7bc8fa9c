// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace criu {

/// Returns the folder of the bundle (`make bundle`) from which criu was started; empty for an installed criu. Also
/// empty if criu has privileges that its user lacks, because the user chooses the path that the kernel reports.
[[nodiscard]] std::string bundleFolder();

}  // namespace criu
