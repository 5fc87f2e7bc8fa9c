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

/// Autofs file systems: they ask nobody until all processes have their files, since who goes through one would wait for
/// a daemon that doesn't run yet.
class AutofsRestore {
public:
    /// Throws Error for images that contradict themselves, or whose daemon isn't among the processes. All arguments
    /// outlive this object.
    AutofsRestore(const ImageDir& images, const MountImages& mounts, const model::ProcessTree& tree);

    /// By criu, before there are processes.
    void openDevice(kernel::FdStore& store);
    /// In the first process: makes the file system of a mount, attached nowhere. Throws Error.
    [[nodiscard]] UniqueFd make(const Mount& mount);
    /// In each process, when all have their files: what it is the daemon of asks it from now on. Throws Error.
    void activate(const model::Task& task) const;

private:
    struct FileSystem {
        Record<AutofsEntry> entry;
        TreePid daemon;      ///< zero: nobody is asked
        UniqueFd root = {};  ///< from make() on
    };

    void fill(const Mount& mount, const AutofsEntry& entry, int root) const;
    void activate(const FileSystem& system) const;

    const MountImages& mounts_;
    std::map<std::uint32_t, FileSystem> systems_;  ///< by device
    kernel::FdStore* store_ = nullptr;             ///< from openDevice() on
    UniqueFd device_;
};

}  // namespace criu::namespaces
