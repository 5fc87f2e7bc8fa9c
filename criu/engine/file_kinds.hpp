// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "criu/files/file_kind.fwd.hpp"
#include "images/fdinfo.fwd.hpp"

namespace criu::device {
class DumpDevices;
class RestoreDevices;
}  // namespace criu::device

namespace criu::files {
class PathDump;
class PathRemaps;
class RingOwners;
}  // namespace criu::files

namespace criu::memory {
class Segments;
class SegmentsDump;
}  // namespace criu::memory

namespace criu::namespaces {
class PosixQueuesDump;
class TunDevices;
}  // namespace criu::namespaces

namespace criu::sockets {
class ExternalSocketRestore;
class NetworkLock;
class ExternalSocketDump;
}  // namespace criu::sockets

namespace criu::tty {
class OutsideTerminals;
struct SeenSession;
}  // namespace criu::tty

namespace criu::engine {

/// What dump halves share with others of the run. All outlives them.
struct FileDumpResources {
    files::PathDump& paths;
    memory::SegmentsDump& segments;
    sockets::NetworkLock& network;
    sockets::ExternalSocketDump& carriers;
    namespaces::TunDevices& tunDevices;
    device::DumpDevices& devices;
    const std::vector<tty::SeenSession>& sessions;
    namespaces::PosixQueuesDump* posixQueues;  ///< null if the tree has none for itself
    const files::RingOwners& rings;
};

/// What restore halves share with others of the run. All outlives them.
struct FileRestoreResources {
    const files::PathRemaps& remaps;
    const memory::Segments& segments;
    sockets::NetworkLock& network;
    const sockets::ExternalSocketRestore& carried;
    const tty::OutsideTerminals& terminals;
    device::RestoreDevices& devices;
    bool ownPosixQueues;  ///< the tree gets POSIX message queues of its own
};

/// One kind of open files: how images call it, and what makes its halves, which know nothing of each other.
struct FileKind {
    FdTypes type = FD_TYPES__UND;
    std::unique_ptr<files::FileKindDump> (*startDump)(const FileDumpResources&) = nullptr;
    /// Null for a kind that is always refused.
    std::unique_ptr<files::FileKindRestore> (*startRestore)(const FileRestoreResources&) = nullptr;
};

/// All kinds this criu knows, in the order in which they are asked on dump.
[[nodiscard]] std::span<const FileKind> fileKinds() noexcept;

}  // namespace criu::engine
