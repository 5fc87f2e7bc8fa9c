// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "criu/files/file_kind.fwd.hpp"
#include "criu/sockets/owner_program.hpp"
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

/// Objects that the dump halves of fd kinds use; they must outlive the dump halves.
struct FileDumpResources {
    files::PathDump& paths;
    memory::SegmentsDump& segments;
    sockets::NetworkLock& network;
    sockets::ExternalSocketDump& externalSockets;
    namespaces::TunDevices& tunDevices;
    device::DumpDevices& devices;
    const std::vector<tty::SeenSession>& sessions;
    namespaces::PosixQueuesDump* posixQueues;  ///< null if the tree has no private IPC namespace
    const files::RingOwners& rings;
    const sockets::OwnerProgram& program;
};

/// Objects that the restore halves of fd kinds use; they must outlive the restore halves.
struct FileRestoreResources {
    const files::PathRemaps& remaps;
    const memory::Segments& segments;
    sockets::NetworkLock& network;
    const sockets::ExternalSocketRestore& externalSockets;
    const tty::OutsideTerminals& terminals;
    device::RestoreDevices& devices;
    bool ownPosixQueues;  ///< true if the tree gets a private IPC namespace
};

/// Fd kind: its file type in images, and two functions that make its dump half and its restore half.
struct FileKind {
    FdTypes type = FD_TYPES__UND;
    std::unique_ptr<files::FileKindDump> (*startDump)(const FileDumpResources&) = nullptr;
    /// Function that makes the restore half; null for a kind whose dump half refuses all files.
    std::unique_ptr<files::FileKindRestore> (*startRestore)(const FileRestoreResources&) = nullptr;
};

/// Returns all fd kinds. In a dump, the first kind in this order that claims a file dumps it.
[[nodiscard]] std::span<const FileKind> fileKinds() noexcept;

}  // namespace criu::engine
