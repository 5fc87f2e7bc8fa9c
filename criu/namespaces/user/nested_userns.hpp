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

/// User namespaces below the one in which a tree is restored (user_namespaces(7)). Of processes nothing but the
/// capabilities depends on them: whoever has to have rights while a restore goes on, enters its own only when it gets
/// its credentials. Other namespaces that belong to one are made by who has entered it.
class NestedUserns {
public:
    /// `numbers`: in images, of those that processes were in. Throws Error, also for processes that couldn't enter
    /// theirs.
    NestedUserns(const ImageDir& images, const std::vector<std::uint32_t>& numbers, const model::ProcessTree& tree);

    /// An existing namespace, whose descriptor stays the caller's until prepare(), takes the place of this one.
    void join(std::uint32_t number, int space) {
        joined_ = number;
        existing_ = space;
    }

    /// How many prepare() moves.
    [[nodiscard]] std::size_t descriptors() const noexcept { return spaces_.size(); }
    /// By criu: keeps descriptor numbers for them.
    void prepare(kernel::FdStore& store);
    /// By the first process, in the user namespace above them, but still with criu's uids and where /proc is that of
    /// criu: makes them. `above`: has the groups of that user namespace.
    void make(const model::IdMap& above) const;

    /// The namespace that a process goes to, whose descriptor all restored processes have; null: none of these.
    [[nodiscard]] const UniqueFd* of(const model::Task& task) const;
    /// The one to which a namespace of another kind belongs, by its number; null: none of these.
    [[nodiscard]] const UniqueFd* owning(std::uint32_t number) const;

private:
    struct Space {
        std::uint32_t number;
        model::IdMap ids;  ///< outer ones: of the namespace above
        model::UserNsPosition place;
        UniqueFd fd;
    };
    void add(const ImageDir& images, std::uint32_t number);
    void make(const Space& space, const model::IdMap& above) const;
    [[nodiscard]] const Space* find(std::uint32_t number) const;
    [[nodiscard]] const Space* spaceOf(const model::Task& task) const;

    std::vector<Space> spaces_;  ///< those above first
    std::uint32_t joined_ = 0;   ///< the one that isn't made; 0: none
    int existing_ = -1;
};

}  // namespace criu::namespaces
