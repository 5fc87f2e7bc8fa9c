// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/engine/fwd.hpp"

namespace criu::engine {

/// Sets model::Task::lateThreads of all processes of the images. Throws Error for threads that criu can't create late.
void findLateThreads(const RestoreImages& content, const ImageDir& images);

}  // namespace criu::engine
