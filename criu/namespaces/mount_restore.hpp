// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <set>
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

    /// `outside` and `tree`: numbers of criu's and the tree's namespaces. Reads the image and checks what can be
    /// checked without making anything; throws Error.
    MountRestore(const model::Options& options, const ImageDir& images, const TaskKobjIdsEntry* outside,
                 const TaskKobjIdsEntry* tree, Log& log);

    /// Whether the tree was in a namespace of its own.
    [[nodiscard]] bool wasOwn() const noexcept { return number_ != 0; }

    /// Opens, in criu's own namespace, what the tree gets of it: the root, external mounts. `lift` moves descriptors
    /// out of the way.
    void prepare(const ImageDir& images, const Lift& lift);

    /// In the first process of the tree, which has one thread and a mount namespace for itself: makes all mounts, and
    /// the tree's root the process' root. Returns mounts that are covered by others.
    [[nodiscard]] files::HiddenMounts build(const ImageDir& images, const Plugins& plugins, const Lift& lift);

    /// After build(), when deleted files are back: makes read-only what was.
    void seal();

    /// In criu's process, when no restored process needs /proc any more: takes off what build() has put there for the
    /// time, because the tree has none.
    void removeProc(pid_t process) const;

    /// Runs `work` in a thread that is in the namespace of the tree; in the calling one if that is criu's.
    void inside(pid_t process, const std::function<void()>& work) const;

private:
    UniqueFd openOutside(const ImageDir& images, const Mount& mount) const;
    void stageAll(const ImageDir& images, const Plugins& plugins);
    bool stage(const Mount& mount, const ImageDir& images, const Plugins& plugins);
    UniqueFd makeFileSystem(const Mount& mount, const ImageDir& images);
    void fill(const Mount& mount, int directory, const ImageDir& images) const;
    UniqueFd cloneFrom(const Mount& source, const Mount& mount) const;
    [[nodiscard]] UniqueFd helper(const Mount& mount) const;
    std::string place(const Mount& mount, bool directory) const;
    void attachBelow(const Mount& mount);
    [[nodiscard]] const Mount& topmost() const;
    void enterRoot() const;
    [[nodiscard]] bool lacksProc() const;
    [[nodiscard]] std::string optionsOf(const Mount& mount) const;

    const model::Options& options_;
    Log& log_;
    std::uint32_t number_ = 0;  ///< of the tree's own namespace, 0: it has none
    std::vector<Record<MntEntry>> entries_;
    MountTree mounts_;
    std::map<int, UniqueFd> outside_;  ///< what was opened in criu's namespace, by mount id
    UniqueFd yard_;                    ///< where mounts are until they are put together
    std::map<int, UniqueFd> made_;     ///< by mount id
    std::set<std::uint32_t> filled_;   ///< file systems with files of the images
};

/// Gives mounts, all private and attached, the peers and masters that they had. `made`: a descriptor of each by its id.
void restorePropagation(const MountTree& mounts, const std::map<int, UniqueFd>& made,
                        const std::function<UniqueFd(const Mount&)>& wholeOf);

}  // namespace criu::namespaces
