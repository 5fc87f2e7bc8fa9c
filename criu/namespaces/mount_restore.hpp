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

#include "criu/base/log.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/mount_tree.hpp"
#include "images/core.hpp"

namespace criu::namespaces {

/// The mount namespace of restored processes: criu's, or a new one with the mounts of the images.
class MountRestore {
public:
    using Lift = std::function<UniqueFd(UniqueFd)>;
    /// Has a plugin put a mount, known by its id in the images, on a path.
    using Plugins = std::function<void(int, const std::string&)>;

    /// `outside`: numbers of criu's namespaces; `tree`: of those of all processes, the first one first. Reads the
    /// images and checks what can be checked without making anything; throws Error.
    MountRestore(const model::Options& options, const ImageDir& images, const TaskKobjIdsEntry* outside,
                 std::span<const TaskKobjIdsEntry* const> tree, Log& log);

    /// Whether the tree was in a namespace of its own.
    [[nodiscard]] bool wasOwn() const noexcept { return !trees_.empty(); }

    /// Opens, in criu's own namespace, what the tree gets of it: the root, external mounts. `lift` moves descriptors
    /// out of the way.
    void prepare(const ImageDir& images, const Lift& lift);

    /// In the first process of the tree, which has one thread and a mount namespace for itself: makes all mounts, and
    /// the tree's root the process' root. Returns mounts that are covered by others.
    [[nodiscard]] files::HiddenMounts build(const ImageDir& images, const Plugins& plugins, const Lift& lift);

    /// In a restored process: goes to the namespace of this number, if the tree has several.
    void enter(std::uint32_t number) const;

    /// After build(), when deleted files are back: makes read-only what was.
    void seal();

    /// In criu's process, when no restored process needs /proc any more: takes off what build() has put there for the
    /// time, because the tree has none.
    /// `process`: one of the namespace of this number.
    void removeProc(std::uint32_t number, pid_t process) const;

    /// Runs `work` in a thread that is in the namespace of the tree; in the calling one if that is criu's.
    void inside(pid_t process, const std::function<void()>& work) const;

private:
    /// A namespace.
    struct Tree {
        std::uint32_t number = 0;
        std::vector<Record<MntEntry>> entries;
        MountTree mounts;
        UniqueFd space;  ///< once it is made, if there are several
        std::shared_ptr<const UniqueFd> root;
    };

    [[nodiscard]] static Tree read(const ImageDir& images, std::uint32_t number, const model::Options& options);
    [[nodiscard]] const MountTree& main() const noexcept { return trees_.front().mounts; }
    [[nodiscard]] bool isRoot(const Mount& mount) const noexcept { return &mount == &main().root(); }
    [[nodiscard]] std::vector<const Mount*> all() const;
    void sealBelow(const Tree& tree);
    void split(Tree& tree, const Lift& lift);
    UniqueFd openOutside(const ImageDir& images, const Mount& mount) const;
    void stageAll(const ImageDir& images, const Plugins& plugins);
    bool stage(const Mount& mount, const ImageDir& images, const Plugins& plugins);
    UniqueFd makeFileSystem(const Mount& mount, const ImageDir& images);
    void fill(const Mount& mount, int directory, const ImageDir& images) const;
    UniqueFd cloneFrom(const Mount& source, const Mount& mount) const;
    [[nodiscard]] UniqueFd helper(const Mount& mount) const;
    std::string place(const Mount& mount, bool directory) const;
    std::string placeNamed(std::string name, bool directory) const;
    void attachBelow(const MountTree& tree, const Mount& mount);
    void enterRoot(const MountTree& tree, int yard, int root, std::optional<int> top) const;
    [[nodiscard]] files::HiddenMounts hiddenMounts(const Lift& lift);
    [[nodiscard]] const MntEntry* entryFor(const Mount& mount) const;
    [[nodiscard]] static bool lacksProc(const MountTree& tree);
    static void addProc(const MountTree& tree);
    [[nodiscard]] std::string optionsOf(const Mount& mount) const;

    const model::Options& options_;
    Log& log_;
    std::vector<Tree> trees_;          ///< that of the first process first; none: it was in criu's
    std::map<int, UniqueFd> outside_;  ///< what was opened in criu's namespace, by mount id
    UniqueFd yard_;                    ///< where mounts are until they are put together
    std::map<int, UniqueFd> made_;     ///< by mount id
    std::map<int, UniqueFd> outer_;    ///< peers of mounts of criu's namespace that made_ are to join
    std::string cgroupOptions_;  ///< that cgroup2 has at present: in the first cgroup namespace mounting it sets them
    std::set<std::uint32_t> filled_;  ///< file systems with files of the images
};

/// Gives mounts, all private and attached, the peers and masters that they had. `made`: a descriptor of each by its id;
/// `outer`: of those that were peers of mounts outside, such a peer.
void restorePropagation(std::span<const Mount* const> mounts, const std::map<int, UniqueFd>& made,
                        const std::map<int, UniqueFd>& outer, const std::function<UniqueFd(const Mount&)>& wholeOf);

}  // namespace criu::namespaces
