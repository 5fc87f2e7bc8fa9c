// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::files {
struct OpenFd;
class PathDump;
}  // namespace criu::files

namespace criu::namespaces {
class TunDevices;
}

namespace criu::namespaces {

/// Returns true if a descriptor refers to /dev/net/tun.
[[nodiscard]] bool isTunDescriptor(const files::OpenFd& file);

/// Create the dump half and the restore half of the fd kind for /dev/net/tun. A descriptor may be unattached, attached
/// to a device of the tree, or have a detached queue.
std::unique_ptr<files::FileKindDump> makeTunFileDump(files::PathDump& paths, TunDevices& devices);
std::unique_ptr<files::FileKindRestore> makeTunFileRestore();

}  // namespace criu::namespaces
