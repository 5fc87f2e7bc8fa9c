// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::device {
class DumpDevices;
class RestoreDevices;

/// Returns the dump half and the restore half of the fd kind for files that device subsystems dump and restore.
std::unique_ptr<files::FileKindDump> makeDeviceFileDump(DumpDevices& devices);
std::unique_ptr<files::FileKindRestore> makeDeviceFileRestore(RestoreDevices& devices);

}  // namespace criu::device
