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

/// A descriptor of a process that is dumped. Processes that share a table count as one, the first of them.
struct SeenFd {
    HostPid pid;
    int fd = -1;
    FileId id;
};

/// What a kind of files may use while dumping.
class FileDump {
public:
    virtual ~FileDump() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// To be looked at between pieces of whatever takes long.
    [[nodiscard]] virtual StopRequest& stop() = 0;
    /// Messages made here live until they are written.
    [[nodiscard]] virtual Arena& arena() = 0;
    /// A new id, for entries without a descriptor (a fifo's path, link-remap names).
    virtual FileId nextId() = 0;
    /// Adds an entry to files.img: one that no descriptor refers to, or one of addLater().
    virtual void add(FileEntry& entry) = 0;
    /// The entry that FileKindDump::dump() is filling isn't to be added when that returns: the kind does so itself,
    /// in finish() at the latest. For kinds whose entries must be in some order.
    virtual void addLater(const FileEntry& entry) = 0;
    /// Dumps a path that is no descriptor of anybody, as a regular-file entry: the path of a fifo or terminal.
    virtual FileId addPath(const OpenFd& file, std::uint32_t flags) = 0;
    /// The id of a description that was found in flight, not in a descriptor table; dumped now if it is new.
    virtual FileId addInFlight(UniqueFd fd) = 0;
    /// The owner settings (F_GETOWN_EX, F_GETSIG, F_GETOWNER_UIDS) of a description, as an image message.
    virtual FownEntry* owner(const OpenFd& file) = 0;
    /// Descriptions of an inode, each by the first descriptor seen. All are known in FileKindDump::finish().
    [[nodiscard]] virtual std::vector<SeenFd> seen(dev_t device, ino_t inode) const = 0;
    /// All descriptors of a process by ascending number, once its table was dumped.
    [[nodiscard]] virtual std::span<const SeenFd> descriptorsOf(HostPid pid) const = 0;
    /// Processes, groups and sessions, as the tree calls them.
    [[nodiscard]] virtual const model::TreePids& pids() const = 0;
    /// Whether a process (by its pid here) belongs to the tree, so that it will exist on restore.
    [[nodiscard]] virtual bool isDumped(HostPid pid) const = 0;
    /// Users and groups, as the tree calls them.
    [[nodiscard]] virtual const model::IdMap& ids() const = 0;
    /// The number by which images know a namespace, by its inode; nothing if it is not the tree's.
    [[nodiscard]] virtual std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind kind,
                                                                       std::uint32_t inode) const = 0;
    /// The number by which images know the network namespace of the tree's root.
    [[nodiscard]] virtual std::uint32_t networkNumber() const = 0;
    /// Where absolute paths of the processes begin.
    [[nodiscard]] virtual const TreeRoot& treeRoot() const = 0;
};

}  // namespace criu::files
