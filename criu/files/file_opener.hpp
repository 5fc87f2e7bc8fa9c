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

/// What opening a path makes sure of.
enum class PathCheck : std::uint8_t {
    Same,     ///< that it is the file that was dumped (size, mode, build id as the options say)
    Nothing,  ///< whatever has the name is taken
};

/// What RestoredFile::open() may use, in a restored process.
class FileOpener {
public:
    virtual ~FileOpener() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Who does what takes rights outside of the tree's user namespace; null if the tree has none of its own.
    [[nodiscard]] virtual const kernel::Usernsd* usernsd() const = 0;
    /// Hands over the description for `id`. It is put at its numbers (or stored for children) at once.
    virtual void provide(FileId id, UniqueFd fd) = 0;
    /// Instead of provide(): what is needed isn't there yet. RestoredFile::open() is called again when other files have
    /// been opened; the restore fails if that doesn't help.
    virtual void postpone() = 0;
    /// Moves a descriptor to the service range, out of the numbers that restored files need. For kinds that hold
    /// several descriptors at a time: one at a low number could be where provide() has to put another.
    virtual UniqueFd toServiceRange(UniqueFd fd) = 0;
    /// A descriptor of an id that is open in this process or that this process inherited; -1 if there is none.
    [[nodiscard]] virtual int find(FileId id) const = 0;
    /// Whether a process of the tree will have the id as a descriptor, so that RestoredTree can fetch it.
    [[nodiscard]] virtual bool isHeld(FileId id) const = 0;
    /// The descriptor that --inherit-fd gives for a name; -1 if none. It stays the caller's: copy it.
    [[nodiscard]] virtual int inherited(std::string_view name) const = 0;
    /// What this process calls a process or process group of the tree, in its own pid namespace; zero for one that it
    /// doesn't see and that isn't there. Throws Error for a process that is there, but can't be seen from here.
    [[nodiscard]] virtual pid_t numberOf(TreePid process) const = 0;
    /// For what has descriptions in several namespaces (RestoredFile::spansNamespaces()): runs `work` in the network
    /// namespace of this number in images, or where paths on this mount of the images lead.
    virtual void inNetwork(std::uint32_t number, const std::function<void()>& work) = 0;
    virtual void onMount(int mount, const std::function<void()>& work) = 0;
    /// Opens a path entry (a regular-file entry) afresh with other flags: for fifos, terminals, mappings.
    virtual UniqueFd openPath(FileId regular, int flags, PathCheck check) = 0;
    /// The same with PathCheck::Same.
    UniqueFd openPath(FileId regular, int flags) { return openPath(regular, flags, PathCheck::Same); }
};

}  // namespace criu::files
