// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.hpp"
#include "criu/files/regular.hpp"
#include "criu/namespaces/tun_devices.hpp"

namespace criu::namespaces {

/// Descriptors of /dev/net/tun: not attached yet, attached to a device of the tree's network namespace, or with a queue
/// set aside. `devices` is of a dump only.
std::unique_ptr<files::FileKind> makeTunFileKind(files::PathDump& paths, TunDevices* devices);

}  // namespace criu::namespaces
