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

/// Autofs file systems of a restore. They stay catatonic until all processes have their files. Otherwise a path lookup
/// in them would wait for a daemon that doesn't run yet.
class AutofsRestore {
public:
    /// Reads the images. Throws Error if they are inconsistent, or if the daemon of a file system isn't in the tree.
    /// All arguments must outlive this object.
    AutofsRestore(const ImageDir& images, const MountImages& mounts, const model::ProcessTree& tree);

    /// Opens /dev/autofs. Runs in the coordinator before processes exist.
    void openDevice(kernel::FdStore& store);
    /// Creates the file system of a mount, which isn't attached. Runs in the first process. Throws Error.
    [[nodiscard]] UniqueFd make(const Mount& mount);
    /// Connects the file systems whose daemon is this process. Runs in each process after all processes have their
    /// files. Throws Error.
    void activate(const model::Task& task) const;

private:
    struct FileSystem {
        Record<AutofsEntry> entry;
        TreePid daemon;      ///< pid of the daemon; 0 if the file system has no daemon
        UniqueFd root = {};  ///< root directory of the file system; set by make()
    };

    void fill(const Mount& mount, const AutofsEntry& entry, int root) const;
    void activate(const FileSystem& system) const;

    const MountImages& mounts_;
    std::map<std::uint32_t, FileSystem> systems_;  ///< the key is the device number
    kernel::FdStore* store_ = nullptr;             ///< set by openDevice()
    UniqueFd device_;
};

}  // namespace criu::namespaces
