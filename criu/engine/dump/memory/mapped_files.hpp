// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "criu/base/ids.hpp"

namespace criu::device {
class DumpDevices;
}

namespace criu::kernel {
struct Vma;
}

namespace criu::memory {
class MappedFileDump;
class SegmentsDump;
}  // namespace criu::memory

namespace criu::engine {

class FileCollector;
struct FrozenTask;

/// Files that processes of a tree have mapped. Most processes map the same program and libraries, so the dump opens
/// each of these files in one process only. In a tree with mount namespaces of its own, a path may lead to several
/// mounts, so that the dump opens the files of each process.
class SharedMappedFiles {
public:
    struct Known {
        std::optional<bool> plain;   ///< see memory::MappedFileDump::isPlain()
        std::optional<FileId> file;  ///< see memory::MappedFileDump::fileFor()
    };

    /// Returns what the dump knows of the file with this access mode (O_RDONLY or O_RDWR). Returns null if mappings of
    /// other processes with the same device, inode and path may be of another file.
    [[nodiscard]] Known* find(const kernel::Vma& vma, int access);

private:
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, std::string, int>, Known> known_;
};

/// Makes an object that dumps the mapped files of one process. It opens the files by /proc/PID/map_files, and adds path
/// entries to `files`. All arguments must outlive the object.
[[nodiscard]] std::unique_ptr<memory::MappedFileDump> makeMappedFiles(const FrozenTask& task, FileCollector& files,
                                                                      memory::SegmentsDump& segments,
                                                                      device::DumpDevices& devices,
                                                                      SharedMappedFiles& shared);

}  // namespace criu::engine
