// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <set>
#include <string_view>

#include "criu/engine/fwd.hpp"
#include "images/core.fwd.hpp"
#include "images/fdinfo.fwd.hpp"
#include "images/netdev.fwd.hpp"
#include "images/userns.fwd.hpp"

namespace criu {
class ImageDir;
}

namespace criu::model {
struct Options;
}

namespace criu::namespaces {
class MountTree;
}

namespace criu::engine {

/// Rules for images whose author isn't trusted (--untrusted). The rules require private namespaces, so that the kernel
/// confines the restored processes, and refuse objects outside of these namespaces. Each function throws Error with the
/// image, the reason and a remedy.
class UntrustedRules {
public:
    /// `outside`: namespace ids of the criu that made the dump; null in old images.
    UntrustedRules(const model::Options& options, const TaskKobjIdsEntry* outside)
        : options_(options), outside_(outside) {}

    /// Checks all images. Call it before the restore creates anything.
    void requireImages(const RestoreImages& content, const ImageDir& images) const;

    /// Requires private user, mount, network and IPC namespaces. Requires a private pid namespace, or --new-pidns.
    void requireNamespaces(const TaskKobjIdsEntry& ids, std::string_view image) const;
    /// Requires all ids outside of a user namespace to be in the range of --untrusted. Ignores a user namespace whose
    /// parent is a namespace of the tree, because the kernel limits its ids to those of the parent.
    void requireUsers(const UsernsEntry& users, std::string_view image) const;
    /// Refuses a label, and scheduling that needs capabilities.
    void requireThread(const ThreadCoreEntry& thread, std::string_view image) const;
    /// Refuses resource limits and an OOM score that criu itself doesn't have.
    void requireProcess(const TaskCoreEntry& process, std::string_view image) const;
    /// Refuses open files of kinds that the tree's namespaces don't confine, and files of criu's namespaces.
    void requireFile(const FileEntry& file) const;
    /// Refuses file systems that show objects of the host, and mounts whose source only the images name. `hasFiles`:
    /// true if the images contain the files of the root mount.
    void requireMounts(const namespaces::MountTree& mounts, bool hasFiles, std::string_view image) const;
    /// Refuses a network device with a part outside of the tree, unless an option names this part.
    void requireDevice(const NetDeviceEntry& device, std::string_view image) const;

private:
    [[nodiscard]] bool isOutside(std::uint32_t number) const;
    void requireTerminals(const ImageDir& images) const;
    static void requireDeletedFiles(const ImageDir& images);

    const model::Options& options_;
    const TaskKobjIdsEntry* outside_;
};

}  // namespace criu::engine
