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

/// Makes access to the files behind mappings of one process. They are opened by /proc/PID/map_files and become path
/// entries of the file collector. All arguments outlive the result.
[[nodiscard]] std::unique_ptr<memory::MappedFileDump> makeMappedFiles(const FrozenTask& task, FileCollector& files,
                                                                      memory::SegmentsDump& segments,
                                                                      device::DumpDevices& devices);

}  // namespace criu::engine
