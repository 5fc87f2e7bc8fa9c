// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/device/dump_devices.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"

namespace criu::device {

/// Open files that a device subsystem takes care of.
std::unique_ptr<files::FileKindDump> makeDeviceFileDump(DumpDevices& devices);
std::unique_ptr<files::FileKindRestore> makeDeviceFileRestore(RestoreDevices& devices);

}  // namespace criu::device
