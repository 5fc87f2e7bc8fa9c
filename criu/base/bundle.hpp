// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>

namespace criu {

/// Returns the folder of the bundle (`make bundle`) from which criu was started; empty for an installed criu. The first
/// call asks the kernel, so it must precede any change of criu's mount namespace. Also empty if criu has privileges
/// that its user lacks, because a user may make a folder that looks like a bundle.
[[nodiscard]] const std::string& bundleFolder();

}  // namespace criu
