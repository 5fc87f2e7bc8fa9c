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

/// Whether a descriptor is of /dev/net/tun.
[[nodiscard]] bool isTunDescriptor(const files::OpenFd& file);

/// Descriptors of /dev/net/tun: not attached yet, attached to a device of a network namespace of the tree, or with a
/// queue set aside.
std::unique_ptr<files::FileKindDump> makeTunFileDump(files::PathDump& paths, TunDevices& devices);
std::unique_ptr<files::FileKindRestore> makeTunFileRestore();

}  // namespace criu::namespaces
