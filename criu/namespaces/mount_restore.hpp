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

#include "criu/files/regular.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/record.hpp"
#include "criu/namespaces/file_archive.hpp"
#include "criu/namespaces/mount_helpers.hpp"
#include "criu/namespaces/mount_tree.hpp"
#include "criu/namespaces/namespace_restore.hpp"

namespace criu::namespaces {

/// The mount namespaces of restored processes: new ones with the mounts of the images. The first process makes all of
/// them, so that the mounts belong to its user namespace.
class MountRestore final : public NamespaceRestore {
public:
    /// `numbers`: the first process had a namespace for itself.
    MountRestore(const RestoreInputs& inputs, const KindNumbers& numbers, MountHelpers helpers);

    /// Opens, in criu's own namespace, what the tree gets of it: the root, external mounts.
    void prepare(kernel::FdStore& store, const Inherited& inherited) override;
    [[nodiscard]] std::uint64_t birthFlags(const model::Task& task) const override;
    /// Makes all mounts, and the tree's root the process' root. What was read-only becomes so when deleted files are
    /// back.
    void build() override;
    /// Goes to the process' own namespace, if the tree has several.
    void enter(const model::Task& task) const override;
    /// Makes mounts of terminals, which exist only now.
    void finish(const kernel::ProcPid& first) override;
    /// Takes off /proc what build() has put there for the time of the restore, because the tree has none.
    void clean(std::span<const ParkedProcess> processes) override;

private:
    /// A namespace.
    struct Tree {
        std::uint32_t number = 0;
        std::vector<Record<MntEntry>> entries;
        MountTree mounts;
        UniqueFd space;  ///< once it is made, if there are several
        std::shared_ptr<const UniqueFd> root;
    };

    /// A terminal of a devpts of the namespace that is mounted somewhere (/dev/console).
    struct TerminalMount {
        std::string terminal;  ///< path in the namespace
        std::string place;
        std::uint64_t flags = 0;
    };

    void takeTerminalMounts();
    static void inside(HostPid process, const Work& work);
    [[nodiscard]] files::HiddenMounts makeMounts();
    void linkAcross(int fromMount, const std::string& from, int toMount, const std::string& to) const;
    [[nodiscard]] const Tree* treeOf(int mount) const;
    void seal();
    void requireInPlace() const;
    [[nodiscard]] static Tree read(const ImageDir& images, std::uint32_t number, const model::Options& options);
    [[nodiscard]] const MountTree& main() const noexcept { return trees_.front().mounts; }
    [[nodiscard]] bool isRoot(const Mount& mount) const noexcept { return &mount == &main().root(); }
    [[nodiscard]] std::vector<const Mount*> all() const;
    void sealBelow(const Tree& tree);
    void split(Tree& tree);
    [[nodiscard]] UniqueFd openOutside(const Mount& mount) const;
    void stageAll();
    bool stage(const Mount& mount);
    UniqueFd makeFileSystem(const Mount& mount);
    /// The images have the files of the mount's file system.
    [[nodiscard]] bool hasContent(const Mount& mount) const;
    void fillFileSystem(const Mount& mount, int directory) const;
    UniqueFd cloneFrom(const Mount& source, const Mount& mount) const;
    [[nodiscard]] UniqueFd helper(const Mount& mount) const;
    std::string place(const Mount& mount, bool directory) const;
    std::string placeNamed(std::string name, bool directory) const;
    void attachBelow(const MountTree& tree, const Mount& mount);
    void enterRoot(const MountTree& tree, int yard, int root, std::optional<int> top) const;
    [[nodiscard]] files::HiddenMounts hiddenMounts();
    [[nodiscard]] const MntEntry* entryFor(const Mount& mount) const;
    [[nodiscard]] static bool lacksProc(const MountTree& tree);
    static void addProc(const MountTree& tree);
    [[nodiscard]] std::string optionsOf(const Mount& mount) const;

    const model::Options& options_;
    Log& log_;
    const ImageDir& images_;
    const memory::PageSources& pages_;
    MountHelpers helpers_;
    kernel::FdStore* store_ = nullptr;      ///< from prepare() on
    std::vector<Tree> trees_;               ///< that of the first process first
    std::vector<TerminalMount> terminals_;  ///< of the first process' namespace
    std::map<int, UniqueFd> outside_;       ///< what was opened in criu's namespace, by mount id
    UniqueFd yard_;                         ///< where mounts are until they are put together
    std::map<int, UniqueFd> made_;          ///< by mount id
    std::map<int, int> sources_;            ///< the ids of those that others were cloned from
    std::map<int, UniqueFd> outer_;         ///< peers of mounts of criu's namespace that made_ are to join
    std::string cgroupOptions_;  ///< that cgroup2 has at present: in the first cgroup namespace mounting it sets them
    std::optional<FileArchives> archives_;  ///< if the images have any
    std::set<std::uint32_t> filled_;        ///< file systems with files of the images
};

/// Gives mounts, all private and attached, the peers and masters that they had. `made`: a descriptor of each by its id;
/// `outer`: of those that were peers of mounts outside, such a peer.
void restorePropagation(std::span<const Mount* const> mounts, const std::map<int, UniqueFd>& made,
                        const std::map<int, UniqueFd>& outer, const std::function<UniqueFd(const Mount&)>& wholeOf);

}  // namespace criu::namespaces
