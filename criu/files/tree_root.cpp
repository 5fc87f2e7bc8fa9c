// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/tree_root.hpp"

#include <fmt/format.h>

namespace criu::files {

TreeRoot::TreeRoot(UniqueFd root, kernel::MountTable mounts)
    : root_(std::move(root)), prefix_(fmt::format("/proc/self/fd/{}", root_.get())), mounts_(std::move(mounts)) {}

}  // namespace criu::files
