// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/dump_devices.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/files/file_kind.hpp"

namespace criu::device {

/// Open files that a device subsystem takes care of. The half that isn't used may be null.
std::unique_ptr<files::FileKind> makeDeviceFileKind(DumpDevices* dump, RestoreDevices* restore);

}  // namespace criu::device
