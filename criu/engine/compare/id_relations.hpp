// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

namespace criu::engine {

/// Kinds of ids that criu or the kernel chooses again in each dump or restore. Only relations of such ids have a
/// meaning: two fields with one id refer to one object.
enum class IdClass : std::uint8_t {
    File,           ///< open file description, or a path of a mapping or process
    Pipe,           ///< pipe or named pipe
    Socket,         ///< inode number of a socket
    Terminal,       ///< entry of tty-info.img
    SharedMemory,   ///< shared memory with a pagemap of its own
    Memfd,          ///< inode of a memfd
    Remap,          ///< ghost file or temporary link
    Descriptors,    ///< descriptor table
    AddressSpace,   ///< memory that processes share (CLONE_VM)
    Paths,          ///< root and current directory that threads share (CLONE_FS)
    SignalActions,  ///< signal actions that processes share (CLONE_SIGHAND)
    UndoList,       ///< semaphore undo values that threads share (CLONE_SYSVSEM)
    Namespace,      ///< namespace of any kind
    Mount,
    PeerGroup,   ///< peer group of mounts
    FileSystem,  ///< device number of a file system
    Inode,       ///< device and inode number of a file
    CgroupSet,
    SeccompFilter,
    PidfdTarget,  ///< inode number of a pidfd
    BpfMap,
};

/// Returns the noun for an id of a class, for messages.
[[nodiscard]] std::string_view nameOf(IdClass ids) noexcept;

/// Relation between the ids of two checkpoints: each id has at most one partner of its class.
class IdRelations {
public:
    enum class Bound : std::uint8_t {
        Fresh,     ///< the ids were unknown and are partners now
        Known,     ///< the ids were partners before
        Conflict,  ///< one of the ids has another partner
    };

    /// Makes two ids partners if both have no partner.
    Bound bind(IdClass ids, std::uint64_t image, std::uint64_t tree);
    /// Returns true if an id has a partner.
    [[nodiscard]] bool isImageBound(IdClass ids, std::uint64_t image) const { return ofImage_.contains({ids, image}); }
    [[nodiscard]] bool isTreeBound(IdClass ids, std::uint64_t tree) const { return ofTree_.contains({ids, tree}); }

private:
    using Key = std::pair<IdClass, std::uint64_t>;

    std::map<Key, std::uint64_t> ofImage_;  ///< ids of the tree by ids of the images
    std::map<Key, std::uint64_t> ofTree_;   ///< ids of the images by ids of the tree
};

}  // namespace criu::engine
