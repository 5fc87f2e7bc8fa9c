// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/mount/autofs_dump.hpp"
#include "criu/namespaces/mount/external_mounts.hpp"
#include "criu/namespaces/mount/file_archive.hpp"
#include "criu/namespaces/mount/path_map.hpp"
#include "criu/namespaces/mount/seen_mounts.hpp"

namespace criu {
class ImageDir;
class Refusals;
class StopRequest;
}  // namespace criu

namespace criu::model {
class IdMap;
}

namespace criu::namespaces {

struct DumpOutputs;
struct DumpNsContext;
struct SeenTree;

/// Dump of those mount namespaces of a tree that aren't criu's.
class MountDump {
public:
    /// Examines the namespaces. `seen`: all namespaces of the tree. Throws Error for mounts that can't be dumped.
    /// Throws Error for proc file systems whose pid namespace can't be restored.
    MountDump(const model::Options& options, SeenMounts::FirstProcess first, std::span<const SeenNamespace> seen,
              const SeenTree& tree, Log& log, const MountPlugins& plugins, Refusals& refusals);

    /// Returns the root directory of the tree's paths.
    [[nodiscard]] files::TreeRoot treeRoot() const;

    /// Writes the images of the namespaces, and the content of file systems in memory. Must follow all other images,
    /// while the tree is frozen. `around`: id maps and namespaces of the tree. Throws Error, for instance if a stop is
    /// requested.
    void write(const DumpOutputs& outputs, const DumpNsContext& around, StopRequest& stop);

private:
    void check(const MountPlugins& plugins, Refusals& refusals);
    void requireRootContent() const;
    [[nodiscard]] PathMap<bool> sourcesOnRestore();
    void checkSource(Mount& mount, const PathMap<bool>& sources, const MountPlugins& plugins);
    void checkProc(SeenMountSpace& space) const;
    void checkOwner(const SeenMountSpace& space) const;
    void checkDeleted(const Mount& mount);
    void checkAutomount(Mount& mount, const MountPlugins& plugins);
    void checkMasters(Refusals& refusals);
    [[nodiscard]] bool hasContent(const Mount& mount) const;
    void writeAutomounts(const ImageDir& images) const;
    void writeSpace(const DumpOutputs& outputs, const SeenMountSpace& space, const DumpNsContext& around,
                    const std::map<int, UniqueFd>& opened, StopRequest& stop) const;
    [[nodiscard]] static std::vector<SocketFile> writeContent(const DumpOutputs& outputs, const Mount& mount,
                                                              const model::IdMap& ids, int opened, StopRequest& stop,
                                                              bool dryRun);

    const model::Options& options_;
    ExternalMounts externals_;
    AutofsDump automounts_;
    SeenMounts mounts_;
    std::set<int> deletedFiles_;  ///< ids of mounts of deleted files
    files::TreeRoot::ProcMounts procs_;
    /// Processes in network namespaces that a sysfs shows; the key is the device number of the sysfs.
    std::map<std::uint32_t, HostPid> networks_;
    bool rootOutside_ = false;  ///< true if criu's namespace has a mount of the root mount's file system
};

}  // namespace criu::namespaces
