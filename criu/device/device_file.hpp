// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include "criu/files/file_kind.fwd.hpp"

namespace criu::device {
class DumpDevices;
class RestoreDevices;

/// Returns the two halves of the fd kind for files that device subsystems handle.
std::unique_ptr<files::FileKindDump> makeDeviceFileDump(DumpDevices& devices);
std::unique_ptr<files::FileKindRestore> makeDeviceFileRestore(RestoreDevices& devices);

}  // namespace criu::device
