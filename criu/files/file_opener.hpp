// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"

namespace criu {
class ImageDir;
class Log;
}  // namespace criu

namespace criu::kernel {
class Usernsd;
}

namespace criu::model {
struct Options;
}

namespace criu::files {

/// Check that criu makes of a file that it has opened by its path.
enum class PathCheck : std::uint8_t {
    Same,     ///< size, mode and build id must be those of the dumped file, depending on options
    Nothing,  ///< no check
};

/// Functions that RestoredFile::open() may call in a restored process.
class FileOpener {
public:
    virtual ~FileOpener() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Returns the thread that makes privileged calls outside of the tree's user namespace; null if the tree has no
    /// private user namespace.
    [[nodiscard]] virtual const kernel::Usernsd* usernsd() const = 0;
    /// Passes the open file description of `id` to criu. criu moves it to its descriptor numbers at once, or stores it
    /// for children.
    virtual void provide(FileId id, UniqueFd fd) = 0;
    /// Call it instead of provide() if another file must be open first. criu calls RestoredFile::open() again after it
    /// has opened other files. If no other file is left to open, the restore fails.
    virtual void postpone() = 0;
    /// Moves a descriptor into the service range. An fd kind that opens several descriptors before provide() must move
    /// them, because provide() may need their low numbers.
    virtual UniqueFd toServiceRange(UniqueFd fd) = 0;
    /// Like toServiceRange(), but keeps the number of `fd` if this process had the file `id` at this number. The kernel
    /// returns the lowest free number, so a copy to the dumped number often isn't needed.
    virtual UniqueFd settle(FileId id, UniqueFd fd) = 0;
    /// Returns a descriptor of this process for a file id, or -1 if the file is neither open nor inherited here.
    [[nodiscard]] virtual int find(FileId id) const = 0;
    /// Returns true if a process of the tree gets a descriptor of the file, so that RestoredTree can fetch the file
    /// from it.
    [[nodiscard]] virtual bool isHeld(FileId id) const = 0;
    /// Returns the descriptor that the user assigned to a name by --inherit-fd, or -1 if there is none. The caller must
    /// copy the descriptor.
    [[nodiscard]] virtual int inherited(std::string_view name) const = 0;
    /// Returns the pid of a process or process group of the tree in the pid namespace of this process. Returns 0 if the
    /// tree has no such process. Throws Error if the process exists, but isn't visible in this pid namespace.
    [[nodiscard]] virtual pid_t numberOf(TreePid process) const = 0;
    /// Call `work` in the network namespace with this namespace id, or in the mount namespace of a mount. For objects
    /// for which RestoredFile::spansNamespaces() returns true.
    virtual void inNetwork(std::uint32_t number, const std::function<void()>& work) = 0;
    virtual void onMount(int mount, const std::function<void()>& work) = 0;
    /// Opens the path of a regular-file entry with flags that differ from the dumped ones. For fifos, terminals and
    /// mappings.
    virtual UniqueFd openPath(FileId regular, int flags, PathCheck check) = 0;
    /// Opens the path with PathCheck::Same.
    UniqueFd openPath(FileId regular, int flags) { return openPath(regular, flags, PathCheck::Same); }
};

}  // namespace criu::files
