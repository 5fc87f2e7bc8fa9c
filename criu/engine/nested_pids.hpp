// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <vector>

#include "criu/model/nested_pids.hpp"

namespace criu {
class ImageDir;
}

namespace criu::model {
struct Options;
struct ProcessTree;
class TreePids;
}  // namespace criu::model

namespace criu::engine {

struct FrozenTask;

/// The pid namespaces below that of the root of a tree that stands still. Throws Error if a process got into one in
/// another way than by being born there.
[[nodiscard]] model::NestedPids seenNestedPids(const std::vector<std::unique_ptr<FrozenTask>>& tasks,
                                               const model::TreePids& pids);

/// Throws Error if such a tree has a history that no restore can repeat.
void requireNestedBirths(const std::vector<std::unique_ptr<FrozenTask>>& tasks, const model::TreePids& pids);

/// The same as images have them. Throws Error if these contradict each other.
[[nodiscard]] model::NestedPids readNestedPids(const ImageDir& images, const model::ProcessTree& tree);

}  // namespace criu::engine
