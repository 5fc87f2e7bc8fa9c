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

/// True if a descriptor is of /dev/net/tun.
[[nodiscard]] bool isTunDescriptor(const files::OpenFd& file);

/// Descriptors of /dev/net/tun: unattached, attached to a device of the tree, or with a detached queue.
std::unique_ptr<files::FileKindDump> makeTunFileDump(files::PathDump& paths, TunDevices& devices);
std::unique_ptr<files::FileKindRestore> makeTunFileRestore();

}  // namespace criu::namespaces
