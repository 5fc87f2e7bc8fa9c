// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/proc/procdir.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/mount/autofs_dump.hpp"
#include "criu/namespaces/mount/external_mounts.hpp"
#include "criu/namespaces/mount/file_archive.hpp"
#include "criu/namespaces/mount/mount_tree.hpp"

namespace criu::namespaces {

struct DumpOutputs;
struct DumpNsContext;
struct SeenTree;

/// A mount namespace, and a process that is in it.
struct SeenNamespace {
    std::uint32_t number = 0;  ///< in images
    const kernel::ProcPid* process = nullptr;
};

/// The mount namespaces of a tree that aren't criu's.
class MountDump {
public:
    /// Asks a plugin to carry a mount, by its mount point and id; false if none does.
    using Plugins = std::function<bool(const std::string&, int)>;

    enum class FirstProcess {
        InItsOwn,  ///< that comes first
        WithCriu,  ///< all are of further processes; what criu's namespace has is there for a restore, too
    };

    /// `seen`: all namespaces. Looks at them and refuses what can't be carried.
    MountDump(const model::Options& options, FirstProcess first, std::span<const SeenNamespace> seen,
              const SeenTree& tree, Log& log, const Plugins& plugins);

    /// Finds the proc file systems that show pid namespaces below that of the tree's root, and warns of those that show
    /// none of the tree's, as far as paths lead to them or to processes in them. What is known of them goes into
    /// treeRoot(). Throws Error for those that can't be restored.
    void noteProcsOf(const SeenTree& tree);

    /// Finds the sysfs file systems that show other network namespaces than that of the tree's root, and warns of those
    /// that show none of the tree's, as far as paths lead to them.
    void noteNetworksOf(const SeenTree& tree);

    /// Where the paths of the tree begin.
    [[nodiscard]] files::TreeRoot treeRoot() const;

    /// Writes the images of the namespaces, and the content of file systems in memory. While the tree stands still,
    /// when all else has been dumped. `around`: how the tree calls owners and namespaces. Throws Error, also as soon as
    /// `stop` is requested.
    void write(const DumpOutputs& outputs, const DumpNsContext& around, StopRequest& stop);

private:
    struct Space {
        std::uint32_t number = 0;
        UniqueFd fd;
        UniqueFd root;
        kernel::MountTable table{{}};  ///< as the kernel tells it
        MountTree mounts;
        bool lacksProc = false;  ///< its root has no directory /proc
    };

    [[nodiscard]] std::vector<Mount*> all();
    /// The root of the tree, for which a restore is given a directory; null if that is criu's.
    [[nodiscard]] const Mount* root() const noexcept {
        return first_ == FirstProcess::InItsOwn ? &spaces_.front().mounts.root() : nullptr;
    }
    [[nodiscard]] bool isRoot(const Mount& mount) const noexcept { return &mount == root(); }
    /// Whether a mount is of the file system that this directory is of.
    [[nodiscard]] bool isOnRoot(const Mount& mount) const noexcept {
        return root() != nullptr && mount.device == root()->device;
    }
    [[nodiscard]] Space look(const SeenNamespace& seen) const;
    [[nodiscard]] std::map<int, UniqueFd> openAll(const std::set<int>& wanted) const;
    [[nodiscard]] static std::map<int, UniqueFd> openIn(const Space& space, std::set<int> hidden);
    void markExternal(const Plugins& plugins);
    void makePartsWhole(const MountTree& outside, const Plugins& plugins);
    void takeOutCovered(Space& space, const MountTree& outside) const;
    void takeOutLocked(Space& space) const;
    static std::set<int> takeOut(Space& space, const std::set<int>& unwanted);
    bool matchOutside(Mount& mount, const MountPaths& paths, std::span<const Mount* const> outside) const;
    void check(const Plugins& plugins);
    [[nodiscard]] PathMap<bool> sourcesOnRestore();
    void checkSource(Mount& mount, const PathMap<bool>& sources, const Plugins& plugins);
    void checkProc(Space& space) const;
    void checkOwner(const Space& space) const;
    void checkDeleted(const Mount& mount);
    void checkAutomount(Mount& mount, const Plugins& plugins);
    void checkMasters();
    [[nodiscard]] bool hasContent(const Mount& mount) const;
    void writeAutomounts(const ImageDir& images) const;
    void writeSpace(const DumpOutputs& outputs, const Space& space, const DumpNsContext& around,
                    const std::map<int, UniqueFd>& opened, StopRequest& stop) const;
    [[nodiscard]] static std::vector<SocketFile> writeContent(const DumpOutputs& outputs, const Mount& mount,
                                                              const model::IdMap& ids, int opened, StopRequest& stop);

    const model::Options& options_;
    FirstProcess first_;
    ExternalMounts externals_;
    Log& log_;
    AutofsDump automounts_;
    UniqueFd cgroups_;  ///< the cgroup namespace of the tree's root
    std::vector<Space> spaces_;
    std::set<int> deletedFiles_;  ///< mounts of files that nobody else has
    files::TreeRoot::ProcMounts procs_;
    std::map<std::uint32_t, HostPid> networks_;  ///< by the device of a sysfs: a process in the namespace that it shows
    bool rootOutside_ = false;                   ///< criu's own namespace has the file system of the root mounted
};

}  // namespace criu::namespaces
