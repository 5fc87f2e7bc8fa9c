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

/// The pid namespaces below that of the root of a tree that stands still, whose other pids are known. Throws Error if
/// the first process of one isn't part of the tree, or has ended.
[[nodiscard]] model::NestedPids seenNestedPids(FrozenTree& tree);

/// Throws Error if the processes of a tree have a history that no restore can repeat (model::BirthPlan, and within pid
/// namespaces below that of the root).
void requireBirths(FrozenTree& tree);

/// The same as images have them. Throws Error if these contradict each other.
[[nodiscard]] model::NestedPids readNestedPids(const ImageDir& images, const model::ProcessTree& tree);

}  // namespace criu::engine
