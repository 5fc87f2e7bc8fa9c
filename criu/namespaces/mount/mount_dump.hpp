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

/// A mount namespace and a process that is in it.
struct SeenNamespace {
    std::uint32_t number = 0;  ///< namespace id
    const kernel::ProcPid* process = nullptr;
};

/// The mount namespaces of a tree that aren't criu's.
class MountDump {
public:
    /// Offers a mount (mount point and id) to plugins; false if no plugin takes it.
    using Plugins = std::function<bool(const std::string&, int)>;

    enum class FirstProcess {
        InItsOwn,  ///< the root's namespace is private and comes first
        /// the root is in criu's namespace; all dumped ones are non-root namespaces, and mounts of criu's exist at the
        /// restore, too
        WithCriu,
    };

    /// `seen`: all namespaces. Examines them and throws Error for mounts that can't be dumped.
    MountDump(const model::Options& options, FirstProcess first, std::span<const SeenNamespace> seen,
              const SeenTree& tree, Log& log, const Plugins& plugins);

    /// Finds proc file systems that show nested pid namespaces; treeRoot() contains the result. Warns of reachable ones
    /// that show no pid namespace of the tree. Throws Error for proc file systems that can't be restored.
    void noteProcsOf(const SeenTree& tree);

    /// Finds sysfs file systems that show other network namespaces than the root's. Warns of reachable ones that show
    /// no network namespace of the tree.
    void noteNetworksOf(const SeenTree& tree);

    /// Returns the root of the tree's paths.
    [[nodiscard]] files::TreeRoot treeRoot() const;

    /// Writes the images of the namespaces and the content of file systems in memory. Call it while the tree is frozen,
    /// after all other images. `around`: the tree's ids and namespaces. Throws Error, also as soon as `stop` is
    /// requested.
    void write(const DumpOutputs& outputs, const DumpNsContext& around, StopRequest& stop);

private:
    struct Space {
        std::uint32_t number = 0;
        UniqueFd fd;
        UniqueFd root;
        kernel::MountTable table{{}};  ///< as the kernel shows it
        MountTree mounts;
        bool lacksProc = false;  ///< the root of the namespace has no directory /proc
    };

    [[nodiscard]] std::vector<Mount*> all();
    /// Returns the root mount of the tree, for which the user gives the restore a directory. Null if the root is in
    /// criu's namespace.
    [[nodiscard]] const Mount* root() const noexcept {
        return first_ == FirstProcess::InItsOwn ? &spaces_.front().mounts.root() : nullptr;
    }
    [[nodiscard]] bool isRoot(const Mount& mount) const noexcept { return &mount == root(); }
    /// True if a mount is on the file system of the tree's root mount.
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
    UniqueFd cgroups_;  ///< cgroup namespace of the tree's root
    std::vector<Space> spaces_;
    std::set<int> deletedFiles_;  ///< mounts of deleted files
    files::TreeRoot::ProcMounts procs_;
    /// key: device of a sysfs; value: a process in the network namespace that it shows
    std::map<std::uint32_t, HostPid> networks_;
    bool rootOutside_ = false;  ///< criu's namespace has a mount of the root's file system
};

}  // namespace criu::namespaces
