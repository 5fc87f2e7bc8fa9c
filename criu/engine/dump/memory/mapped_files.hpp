// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

namespace criu::device {
class DumpDevices;
}

namespace criu::memory {
class MappedFileDump;
class SegmentsDump;
}  // namespace criu::memory

namespace criu::engine {

class FileCollector;
struct FrozenTask;

/// Makes an object that dumps the mapped files of one process. It opens the files by /proc/PID/map_files, and adds path
/// entries to `files`. All arguments must outlive the object.
[[nodiscard]] std::unique_ptr<memory::MappedFileDump> makeMappedFiles(const FrozenTask& task, FileCollector& files,
                                                                      memory::SegmentsDump& segments,
                                                                      device::DumpDevices& devices);

}  // namespace criu::engine
