// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/mount/outside_mounts.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/device_number.hpp"
#include "criu/kernel/mount_calls.hpp"
#include "criu/model/options.hpp"
#include "criu/namespaces/mount/mount_dump.hpp"

namespace criu::namespaces {
namespace {

constexpr const char* kTerminalsOutside = "/dev/pts";

/// Returns true if a devpts is a separate instance, and not criu's devpts.
bool isNewInstance(const Mount& mount) {
    return mount.options.find(kNewInstance) != std::string::npos;
}

}  // namespace

UniqueFd openRootDirectory() {
    return UniqueFd(sys(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), "open the root directory"));
}

UniqueFd openOutsideMount(const Mount& mount, const MountImages& mounts, const ImageDir& images,
                          const model::Options& options) {
    const ExternalMounts externals(options);
    if (mounts.isRoot(mount)) {
        if (options.root)
            return kernel::cloneMountAt(*options.root);
        if (mount.kind.content == FsContent::Files && images.exists(ImageKind::TmpfsDev, mount.device))
            return {};
        struct stat here {};
        sys(::stat("/", &here), "stat the root directory");
        if (mount.isWhole() && kernel::kernelForm(here.st_dev) == mount.device)
            return kernel::cloneMountAt("/");
        Error error(0, "the tree had another root than criu has");
        error.addHint("name a directory for it with --root");
        throw error;
    }
    if (mount.externalName == kFromDevice)
        return {};
    if (mount.externalName == kFoundByItself) {
        if (mounts.main() != nullptr && !externals.automatic()) {
            Error error(0, fmt::format("it was found outside, at {}, by itself", mount.source));
            error.addHint("allow that again with --external mnt[]");
            throw error;
        }
        // The path comes from images. It can't contain symbolic links, because the kernel has resolved it at the dump.
        const UniqueFd top = openRootDirectory();
        return kernel::cloneMountBelow(top.get(), pathBelow("/", mount.source).value_or(""));
    }
    if (mount.externalName) {
        const auto path = externals.find(*mount.externalName);
        if (!path) {
            Error error(0, fmt::format("nothing is given for the external mount {}", *mount.externalName));
            error.addHint(fmt::format("restore with --external mnt[{}]:PATH", *mount.externalName));
            throw error;
        }
        return kernel::cloneMountAt(path->starts_with('/') ? *path : '/' + *path);
    }
    if (mount.kind.code == FSTYPE__DEVPTS && mount.isWhole() && !isNewInstance(mount))
        return kernel::cloneMountAt(kTerminalsOutside);
    return {};
}

}  // namespace criu::namespaces
