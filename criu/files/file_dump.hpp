// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "images/fdinfo.fwd.hpp"
#include "images/fown.fwd.hpp"

namespace criu {
class Arena;
class ImageDir;
class Log;
class StopRequest;
}  // namespace criu

namespace criu::files {
struct OpenFd;
class TreeRoot;
}  // namespace criu::files

namespace criu::kernel {
enum class NamespaceKind : std::uint8_t;
}

namespace criu::model {
class IdMap;
struct Options;
class TreePids;
}  // namespace criu::model

namespace criu::files {

/// A descriptor of a dumped process. Processes that share a descriptor table are represented by the first of them.
struct SeenFd {
    HostPid pid;
    int fd = -1;
    FileId id;
};

/// Functions that a fd kind may use during a dump.
class FileDump {
public:
    virtual ~FileDump() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Stop request, to check between pieces of long work.
    [[nodiscard]] virtual StopRequest& stop() = 0;
    /// Arena of messages, which live until they are written.
    [[nodiscard]] virtual Arena& arena() = 0;
    /// Returns a new id, for entries without a descriptor (a fifo's path, link-remap names).
    virtual FileId nextId() = 0;
    /// Adds an entry to files.img: one without a descriptor, or one of addLater().
    virtual void add(FileEntry& entry) = 0;
    /// Keeps the engine from adding the entry that FileKindDump::dump() fills. The kind adds it itself, in finish() at
    /// the latest. For kinds whose entries need an order.
    virtual void addLater(const FileEntry& entry) = 0;
    /// Dumps a path without a descriptor as a regular-file entry: the path of a fifo or terminal.
    virtual FileId addPath(const OpenFd& file, std::uint32_t flags) = 0;
    /// Returns the id of a description in flight, which is in no descriptor table. Dumps it if it is new.
    virtual FileId addInFlight(UniqueFd fd) = 0;
    /// Returns the owner settings (F_GETOWN_EX, F_GETSIG, F_GETOWNER_UIDS) of a description as an image message.
    virtual FownEntry* owner(const OpenFd& file) = 0;
    /// Returns the descriptions of an inode, each by its first descriptor. Complete in FileKindDump::finish().
    [[nodiscard]] virtual std::vector<SeenFd> seen(dev_t device, ino_t inode) const = 0;
    /// Returns all descriptors of a process in ascending order. Valid when its table has been dumped.
    [[nodiscard]] virtual std::span<const SeenFd> descriptorsOf(HostPid pid) const = 0;
    /// Translation of pids, pgids and sids to those of the tree.
    [[nodiscard]] virtual const model::TreePids& pids() const = 0;
    /// True if a process, by its host pid, belongs to the tree.
    [[nodiscard]] virtual bool isDumped(HostPid pid) const = 0;
    /// Translation of uids and gids to those of the tree.
    [[nodiscard]] virtual const model::IdMap& ids() const = 0;
    /// Returns the namespace id of a namespace with this inode; empty if the tree isn't in it.
    [[nodiscard]] virtual std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind kind,
                                                                       std::uint32_t inode) const = 0;
    /// Namespace id of the root's network namespace.
    [[nodiscard]] virtual std::uint32_t networkNumber() const = 0;
    /// Root directory of the processes' absolute paths.
    [[nodiscard]] virtual const TreeRoot& treeRoot() const = 0;
};

}  // namespace criu::files
