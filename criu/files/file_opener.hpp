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

/// Check of a file after it was opened by path.
enum class PathCheck : std::uint8_t {
    Same,     ///< requires the dumped file (size, mode, build id, depending on options)
    Nothing,  ///< no check
};

/// Functions that RestoredFile::open() may use in a restored process.
class FileOpener {
public:
    virtual ~FileOpener() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Does privileged calls outside of the tree's user namespace; null if the tree has no private one.
    [[nodiscard]] virtual const kernel::Usernsd* usernsd() const = 0;
    /// Passes the description for `id`. It is put at its descriptor numbers, or stored for children, at once.
    virtual void provide(FileId id, UniqueFd fd) = 0;
    /// Called instead of provide() if another file must be opened first. RestoredFile::open() is called again when
    /// other files are open. The restore fails if none of them helps.
    virtual void postpone() = 0;
    /// Moves a descriptor to the service range. For kinds that hold several descriptors at a time: provide() may need a
    /// low number.
    virtual UniqueFd toServiceRange(UniqueFd fd) = 0;
    /// Returns the descriptor of an id that is open or inherited in this process; -1 if there is none.
    [[nodiscard]] virtual int find(FileId id) const = 0;
    /// True if a process of the tree gets a descriptor of the id, from which RestoredTree can fetch it.
    [[nodiscard]] virtual bool isHeld(FileId id) const = 0;
    /// Returns the descriptor that --inherit-fd gives for a name; -1 if there is none. The caller must copy it.
    [[nodiscard]] virtual int inherited(std::string_view name) const = 0;
    /// Returns the pid of a process or process group of the tree in the pid namespace of this process. Zero if it
    /// doesn't exist and isn't visible here. Throws Error if it exists and isn't visible here.
    [[nodiscard]] virtual pid_t numberOf(TreePid process) const = 0;
    /// Run `work` in the network namespace with this namespace id, or in the mount namespace of this mount. For objects
    /// with descriptions in several namespaces (RestoredFile::spansNamespaces()).
    virtual void inNetwork(std::uint32_t number, const std::function<void()>& work) = 0;
    virtual void onMount(int mount, const std::function<void()>& work) = 0;
    /// Opens a path entry (a regular-file entry) again with other flags: for fifos, terminals, mappings.
    virtual UniqueFd openPath(FileId regular, int flags, PathCheck check) = 0;
    /// Opens it with PathCheck::Same.
    UniqueFd openPath(FileId regular, int flags) { return openPath(regular, flags, PathCheck::Same); }
};

}  // namespace criu::files
