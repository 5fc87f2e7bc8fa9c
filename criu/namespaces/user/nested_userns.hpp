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

/// Nested user namespaces of a restore (user_namespaces(7)). A process enters its user namespace only at its privilege
/// drop, because it loses criu's capabilities then. If a nested user namespace owns a namespace of another kind, a
/// process in it creates that namespace.
class NestedUserns {
public:
    /// `numbers`: namespace ids of the processes' user namespaces. Throws Error, for instance for a process that
    /// couldn't enter its namespace.
    NestedUserns(const ImageDir& images, const std::vector<std::uint32_t>& numbers, const model::ProcessTree& tree);

    /// Uses an existing namespace for a namespace id. `space`: descriptor, which the caller must keep open until
    /// prepare().
    void join(std::uint32_t number, int space) {
        joined_ = number;
        existing_ = space;
    }

    /// Returns the number of descriptors that prepare() moves.
    [[nodiscard]] std::size_t descriptors() const noexcept { return spaces_.size(); }
    /// Reserves descriptor numbers for make(). Runs in the coordinator.
    void prepare(kernel::FdStore& store);
    /// Creates the namespaces. Runs in the first process, when this process is in the parent user namespace with criu's
    /// uids and criu's /proc. `above`: id map of the parent user namespace.
    void make(const model::IdMap& above) const;

    /// Returns the user namespace that a process enters; null if the process stays in the tree's. All restored
    /// processes have the descriptor.
    [[nodiscard]] const UniqueFd* of(const model::Task& task) const;
    /// Returns the nested user namespace that owns a namespace of another kind, or null if none does. `number`:
    /// namespace id.
    [[nodiscard]] const UniqueFd* owning(std::uint32_t number) const;

private:
    struct Space {
        std::uint32_t number;
        model::IdMap ids;  ///< id map, whose outer ids are ids of the parent namespace
        model::UserNsPosition place;
        UniqueFd fd;
    };
    void add(const ImageDir& images, std::uint32_t number);
    void make(const Space& space, const model::IdMap& above) const;
    [[nodiscard]] const Space* find(std::uint32_t number) const;
    [[nodiscard]] const Space* spaceOf(const model::Task& task) const;

    std::vector<Space> spaces_;  ///< namespaces; parents precede their children
    std::uint32_t joined_ = 0;   ///< namespace id for which join() was called; 0 if it wasn't called
    int existing_ = -1;
};

}  // namespace criu::namespaces
