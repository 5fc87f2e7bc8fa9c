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

/// The mount namespaces of restored processes: new ones with the mounts of the images. The first process makes all of
/// them, so that the mounts belong to its user namespace.
class MountRestore final : public NamespaceRestore {
public:
    /// `numbers`: of at least one namespace.
    MountRestore(const RestoreInputs& inputs, const KindNsIds& numbers, MountHelpers helpers);

    /// Opens, in criu's own namespace, what the tree gets of it: the root, external mounts.
    void prepare(kernel::FdStore& store, const Inherited& inherited) override;
    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override;
    /// Makes all mounts, and the tree's root the process' root. What was read-only becomes so when deleted files are
    /// back.
    void build() override;
    /// Goes to the process' own namespace, if the tree has several.
    void enter(const model::Task& task) const override;
    /// Has mounts ask their daemons.
    void complete(const model::Task& task) const override;
    /// Makes mounts of terminals, which exist only now.
    void finish(const kernel::ProcPid& first) override;
    /// Takes off /proc what build() has put there for the time of the restore, because the tree has none, and removes
    /// the directory if it had none either. Exchanges proc file systems that show pid namespaces which are there only
    /// now.
    void clean(std::span<const ParkedProcess> processes) override;

private:
    /// A namespace, once it is made.
    struct Place {
        UniqueFd space;  ///< if there are several
        std::shared_ptr<const UniqueFd> root;
    };

    static void requireCalls();
    void requireRoom() const;
    static void inside(HostPid process, const Work& work);
    [[nodiscard]] files::HiddenMounts makeMounts();
    void linkAcross(int fromMount, const std::string& from, int toMount, const std::string& to) const;
    void requireInPlace() const;
    void seal(const MountImages::Space& space);
    void makeProcDirectory(const MountImages::Space& space) const;
    static void removeProcDirectory(const MountImages::Space& space);
    void split(const MountImages::Space& space, Place& place);
    void attachAll();
    void attach(const MountTree& tree);
    void makeOverlays();
    [[nodiscard]] files::HiddenMounts hiddenMounts();
    [[nodiscard]] UniqueFd inheritRoot() const;

    Log& log_;
    MountHelpers helpers_;
    const model::IdMap& ids_;
    const RestoreNsContext& surroundings_;
    MountImages mounts_;
    NestedProcs procs_;
    MountStaging staging_;
    kernel::FdStore* store_ = nullptr;  ///< from prepare() on
    CoveredDirectories covered_;
    std::set<int> attached_;                 ///< mounts that are in their places
    std::set<int> within_;                   ///< mounts that are attached in namespaces of further user namespaces
    std::uint32_t first_ = 0;                ///< the number of the first process' namespace, or of criu's
    mutable std::uint32_t current_ = 0;      ///< that of this process, as far as it has left that of the first one
    std::map<std::uint32_t, Place> places_;  ///< by number of the namespace
};

/// Gives mounts, all private and attached, the peers and masters that they had. `made`: a descriptor of each by its id;
/// `outer`: of those that were peers of mounts outside, such a peer.
void restorePropagation(std::span<const Mount* const> mounts, const std::map<int, UniqueFd>& made,
                        const std::map<int, UniqueFd>& outer, const std::function<UniqueFd(const Mount&)>& wholeOf);

}  // namespace criu::namespaces
