// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "criu/base/unique_fd.hpp"
#include "criu/model/id_map.hpp"

namespace criu {
class ImageDir;
}

namespace criu::kernel {
class FdStore;
}

namespace criu::model {
struct ProcessTree;
struct Task;
}  // namespace criu::model

namespace criu::namespaces {

/// Nested user namespaces (user_namespaces(7)). A process enters its own when it gets its credentials, because it loses
/// criu's capabilities there. A process in the user namespace creates the other namespaces that belong to it.
class NestedUserns {
public:
    /// `numbers`: namespace ids of processes' namespaces. Throws Error, also for processes that couldn't enter theirs.
    NestedUserns(const ImageDir& images, const std::vector<std::uint32_t>& numbers, const model::ProcessTree& tree);

    /// Replaces a namespace by an existing one. The caller keeps the descriptor until prepare().
    void join(std::uint32_t number, int space) {
        joined_ = number;
        existing_ = space;
    }

    /// Returns how many descriptors prepare() moves.
    [[nodiscard]] std::size_t descriptors() const noexcept { return spaces_.size(); }
    /// In the coordinator: reserves descriptor numbers.
    void prepare(kernel::FdStore& store);
    /// In the first process, when it is in the parent user namespace with criu's uids and criu's /proc: creates them.
    /// `above`: id map of the parent user namespace.
    void make(const model::IdMap& above) const;

    /// Returns the namespace that a process enters; all restored processes have the descriptor. Null: the tree's.
    [[nodiscard]] const UniqueFd* of(const model::Task& task) const;
    /// Returns the owner of a namespace of another kind, by namespace id; null: the owner isn't a nested one.
    [[nodiscard]] const UniqueFd* owning(std::uint32_t number) const;

private:
    struct Space {
        std::uint32_t number;
        model::IdMap ids;  ///< outer ids are those of the parent namespace
        model::UserNsPosition place;
        UniqueFd fd;
    };
    void add(const ImageDir& images, std::uint32_t number);
    void make(const Space& space, const model::IdMap& above) const;
    [[nodiscard]] const Space* find(std::uint32_t number) const;
    [[nodiscard]] const Space* spaceOf(const model::Task& task) const;

    std::vector<Space> spaces_;  ///< parents first
    std::uint32_t joined_ = 0;   ///< namespace id of the one that isn't created; 0: none
    int existing_ = -1;
};

}  // namespace criu::namespaces
