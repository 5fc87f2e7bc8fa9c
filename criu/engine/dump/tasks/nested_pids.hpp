// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/model/nested_pids.hpp"

namespace criu {
class ImageDir;
}

namespace criu::model {
struct ProcessTree;
}  // namespace criu::model

namespace criu::engine {

class FrozenTree;

/// Returns the nested pid namespaces of a frozen tree. FrozenTree::pids() must be complete. Throws Error if init of a
/// nested pid namespace has ended or isn't in the tree.
[[nodiscard]] model::NestedPids seenNestedPids(FrozenTree& tree);

/// Throws Error if a restore couldn't create the processes with their sessions, groups and nested pid namespaces
/// (model::BirthPlan).
void requireBirths(FrozenTree& tree);

/// Reads the nested pid namespaces from images. Throws Error if the images contradict each other.
[[nodiscard]] model::NestedPids readNestedPids(const ImageDir& images, const model::ProcessTree& tree);

}  // namespace criu::engine
