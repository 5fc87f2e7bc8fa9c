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

namespace compel {
class FrozenProcess;
}

namespace criu {
class Arena;
class ImageDir;
class Log;
class Refusals;
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

/// Descriptor of a dumped process.
struct SeenFd {
    HostPid actor;  ///< OpenFd::actor of the first process that has the descriptor table
    int fd = -1;
    FileId id;
};

/// Functions that an fd kind may call during a dump.
class FileDump {
public:
    virtual ~FileDump() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Returns the stop request. Long work must check it between pieces of data.
    [[nodiscard]] virtual StopRequest& stop() = 0;
    /// Returns the collector for errors of independent checks.
    [[nodiscard]] virtual Refusals& refusals() = 0;
    /// Returns the arena for image messages, which lives until the messages are written.
    [[nodiscard]] virtual Arena& arena() = 0;
    /// Returns a new file id for an entry to which no descriptor refers (path of a fifo, name of a link remap).
    virtual FileId nextId() = 0;
    /// Adds an entry to files.img: an entry to which no descriptor refers, or an entry for which addLater() was called.
    virtual void add(FileEntry& entry) = 0;
    /// Prevents the engine from adding the entry that FileKindDump::dump() fills. The fd kind must add the entry itself
    /// before the end of finish(). Needed by fd kinds whose entries must be in a certain order.
    virtual void addLater(const FileEntry& entry) = 0;
    /// Dumps the path of a fifo or terminal as a regular-file entry to which no descriptor refers. Returns the id of
    /// this entry. `owner`: signal owner that the entry stores; null for a kind whose own entry stores it.
    virtual FileId addPath(const OpenFd& file, std::uint32_t flags, FownEntry* owner) = 0;
    /// Returns the id of an open file description in flight, to which no descriptor table refers. Dumps the file if it
    /// is new.
    virtual FileId addInFlight(UniqueFd fd) = 0;
    /// Returns the signal owner of an open file description (F_GETOWN_EX, F_GETSIG, F_GETOWNER_UIDS) as an image
    /// message with ids and pids of the tree (fown.cpp). Throws Error if the process doesn't see the owner.
    FownEntry* owner(const OpenFd& file);
    /// Throws Error if a process with a descriptor of the file doesn't see the first such process. A late file needs
    /// this (RestoredFile::late()): at a restore, the other processes fetch the file from the first one.
    void requireFetchable(FileId id, const std::string& shown) const;
    /// Returns the first descriptor of each open file description of an inode. The result is complete in
    /// FileKindDump::finish().
    [[nodiscard]] virtual std::vector<SeenFd> seen(dev_t device, ino_t inode) const = 0;
    /// Returns all descriptors of a process in ascending order. The descriptor table must have been dumped.
    [[nodiscard]] virtual std::span<const SeenFd> descriptorsOf(HostPid pid) const = 0;
    /// Returns the processes that have a descriptor of the file, in the order of the images. If processes share a
    /// descriptor table, only the first one is in the result. The result is complete in FileKindDump::finish().
    [[nodiscard]] virtual std::vector<HostPid> users(FileId id) const = 0;
    /// Returns a stopped process of the tree that can make system calls for criu, and continues if criu is killed in
    /// one. Returns null for other processes: zombies, 32-bit processes, and processes with seccomp filters. Returns
    /// null for all processes if injected code could harm one.
    [[nodiscard]] virtual compel::FrozenProcess* callable(HostPid pid) = 0;
    /// Returns the map from host pids, pgids and sids to tree pids.
    [[nodiscard]] virtual const model::TreePids& pids() const = 0;
    /// Returns true if the process belongs to the tree.
    [[nodiscard]] virtual bool isDumped(HostPid pid) const = 0;
    /// Returns the id map from host uids and gids to those of the tree.
    [[nodiscard]] virtual const model::IdMap& ids() const = 0;
    /// Returns the namespace id of the namespace with this inode number. Returns nullopt if no process of the tree is
    /// in the namespace.
    [[nodiscard]] virtual std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind kind,
                                                                       std::uint32_t inode) const = 0;
    /// Returns the namespace id of the root's network namespace.
    [[nodiscard]] virtual std::uint32_t networkNumber() const = 0;
    /// Returns the root directory at which absolute paths of the tree begin.
    [[nodiscard]] virtual const TreeRoot& treeRoot() const = 0;
};

}  // namespace criu::files
