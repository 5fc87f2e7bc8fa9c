// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.hpp"
#include "criu/files/regular.hpp"
#include "criu/namespaces/tun_devices.hpp"

namespace criu::namespaces {

/// Whether a descriptor is of /dev/net/tun.
[[nodiscard]] bool isTunDescriptor(const files::OpenFd& file);

/// Descriptors of /dev/net/tun: not attached yet, attached to a device of a network namespace of the tree, or with a
/// queue set aside. `devices` is of a dump only.
std::unique_ptr<files::FileKind> makeTunFileKind(files::PathDump& paths, TunDevices* devices);

}  // namespace criu::namespaces
