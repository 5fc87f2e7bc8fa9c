// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/image/record.hpp"
#include "images/autofs.hpp"

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

class MountImages;
struct Mount;

/// Autofs file systems. They stay catatonic until all processes have their files: a path lookup in them would otherwise
/// wait for a daemon that doesn't run yet.
class AutofsRestore {
public:
    /// Throws Error for inconsistent images, or if the daemon isn't among the processes. All arguments outlive this
    /// object.
    AutofsRestore(const ImageDir& images, const MountImages& mounts, const model::ProcessTree& tree);

    /// In the coordinator, before processes exist.
    void openDevice(kernel::FdStore& store);
    /// In the first process: creates the file system of a mount, attached nowhere. Throws Error.
    [[nodiscard]] UniqueFd make(const Mount& mount);
    /// In each process, when all processes have their files: connects the file systems of which the process is the
    /// daemon. Throws Error.
    void activate(const model::Task& task) const;

private:
    struct FileSystem {
        Record<AutofsEntry> entry;
        TreePid daemon;      ///< zero: the file system has no daemon
        UniqueFd root = {};  ///< set by make()
    };

    void fill(const Mount& mount, const AutofsEntry& entry, int root) const;
    void activate(const FileSystem& system) const;

    const MountImages& mounts_;
    std::map<std::uint32_t, FileSystem> systems_;  ///< key: device number
    kernel::FdStore* store_ = nullptr;             ///< set by openDevice()
    UniqueFd device_;
};

}  // namespace criu::namespaces
