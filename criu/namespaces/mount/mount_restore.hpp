// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "criu/files/tree_root.hpp"
#include "criu/namespaces/mount/mount_covered.hpp"
#include "criu/namespaces/mount/mount_helpers.hpp"
#include "criu/namespaces/mount/mount_images.hpp"
#include "criu/namespaces/mount/mount_staging.hpp"
#include "criu/namespaces/namespace_restore.hpp"
#include "criu/namespaces/pid/nested_proc.hpp"

namespace criu::namespaces {

/// Restore of the processes' mount namespaces. It creates new namespaces with the mounts of the images. The first
/// process creates all of them, so that its user namespace owns them.
class MountRestore final : public NamespaceRestore {
public:
    /// `numbers` must contain at least one namespace.
    MountRestore(const RestoreInputs& inputs, const KindNsIds& numbers, MountHelpers helpers);

    /// Opens the tree's root directory and sources of external mounts in criu's mount namespace.
    void prepare(kernel::FdStore& store, const Inherited& inherited) override;
    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override;
    /// Creates all mounts, and makes the tree's root the root directory of the process. Creates deleted files before it
    /// makes mounts read-only.
    void build() override;
    /// Enters the mount namespace of the process if the tree has several mount namespaces.
    void enter(const model::Task& task) const override;
    /// Connects autofs mounts with their daemons.
    void complete(const model::Task& task) const override;
    /// Mounts single terminals, which exist only after processes have opened them.
    void finish(const kernel::ProcPid& first) override;
    /// Unmounts the temporary /proc that build() has mounted, and removes its directory if the tree had none. Replaces
    /// proc file systems of nested pid namespaces, because these pid namespaces exist only now.
    void clean(std::span<const ParkedProcess> processes) override;

private:
    /// Restored mount namespace.
    struct Place {
        UniqueFd space;  ///< descriptor of the namespace; empty if the tree has only one mount namespace
        std::shared_ptr<const UniqueFd> root;
    };

    static void requireCalls();
    void requireRoom() const;
    static void inside(HostPid process, const Work& work);
    [[nodiscard]] files::HiddenMounts makeMounts();
    UniqueFd linkAcross(int fromMount, const std::string& from, int toMount, const std::string& to) const;
    void showMounts(const MountImages::Space& first, const UniqueFd& outside) const;
    void requireInPlace() const;
    void seal(const MountImages::Space& space);
    void split(const MountImages::Space& space, Place& place);
    void attachAll();
    void attach(const MountTree& tree);
    void makeOverlays();
    [[nodiscard]] files::HiddenMounts hiddenMounts();
    [[nodiscard]] UniqueFd inheritRoot() const;

    Log& log_;
    MountHelpers helpers_;
    const model::IdMap& ids_;
    const RestoreNsContext& nsContext_;
    const std::optional<std::string> root_;  ///< directory of --root
    MountImages mounts_;
    NestedProcs procs_;
    MountStaging staging_;
    kernel::FdStore* store_ = nullptr;  ///< set by prepare()
    CoveredDirectories covered_;
    std::set<int> attached_;   ///< ids of mounts that are attached
    std::set<int> within_;     ///< ids of mounts that a process in a nested user namespace attaches
    std::uint32_t first_ = 0;  ///< namespace id of the root's mount namespace, or of criu's if the root was in criu's
    /// Namespace id of the mount namespace in which this process is. At first this is the root's namespace; enter()
    /// changes it.
    mutable std::uint32_t current_ = 0;
    std::map<std::uint32_t, Place> places_;  ///< restored namespaces; the key is the namespace id
};

/// Restores peer groups and masters of mounts, which must be private and attached. `made`: descriptors of mounts; the
/// key is the mount id. `outer`: descriptors of external peers, for mounts that have one. `wholeOf`: creates a mount
/// that shows all directories of a mount's peer group.
void restorePropagation(std::span<const Mount* const> mounts, const std::map<int, UniqueFd>& made,
                        const std::map<int, UniqueFd>& outer, const std::function<UniqueFd(const Mount&)>& wholeOf);

}  // namespace criu::namespaces
