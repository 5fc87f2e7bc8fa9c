// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>

#include "criu/files/file_kind.fwd.hpp"
#include "images/fdinfo.fwd.hpp"
#include "images/regfile.fwd.hpp"

namespace criu {
class Arena;
class ImageDir;
class Log;
}  // namespace criu

namespace criu::device {
class DumpDevices;
}

namespace criu::files {
enum class FinalTaskState : std::uint8_t;
class FileDump;
struct OpenFd;
}  // namespace criu::files

namespace criu::memory {
class SegmentsDump;
}

namespace criu::namespaces {
struct DumpNsContext;
class NetworksDump;
}  // namespace criu::namespaces

namespace criu::engine {

class FrozenTree;

/// The dump halves of all kinds of open files, what they share, and the network namespaces that they are asked in.
class FileKindsDump {
public:
    /// A kind's half, and how images call the kind.
    struct Kind {
        FdTypes type = FD_TYPES__UND;
        std::unique_ptr<files::FileKindDump> half;
    };

    /// All arguments outlive this object. `ghostLimit`: bytes that a deleted file may have at most.
    FileKindsDump(memory::SegmentsDump& segments, device::DumpDevices& devices, FrozenTree& tree,
                  const namespaces::DumpNsContext& around, std::uint64_t ghostLimit);
    ~FileKindsDump();
    FileKindsDump(const FileKindsDump&) = delete;
    FileKindsDump& operator=(const FileKindsDump&) = delete;

    /// The kind of a file. Throws Error if there is none.
    [[nodiscard]] const Kind& of(const files::OpenFd& file) const;
    /// Notes the network namespace of a file, and asks its kind ahead of dump() there: see files::FileKindDump. By any
    /// thread.
    void prepare(files::OpenFd& file, Arena& arena) const;
    /// Fills the entry of a file of this kind, in the file's network namespace.
    void dump(const files::OpenFd& file, const Kind& kind, FileEntry& entry, files::FileDump& dump) const;
    /// Fills the entry of a path: see files::PathDump::fill().
    void fillPath(const files::OpenFd& file, std::uint32_t flags, bool wantBuildId, RegFileEntry& out,
                  files::FileDump& dump);

    /// The number of the network namespace of the tree's root.
    [[nodiscard]] std::uint32_t networkNumber() const;

    /// After all files were seen: completes entries, writes images of the kinds' own.
    void finish(files::FileDump& dump, const ImageDir& images);
    /// The end of the dump. Temporary hard links are needed by the images unless the processes go on at once.
    void end(files::FinalTaskState aftermath, Log& log) noexcept;

private:
    struct Impl;

    [[nodiscard]] std::uint32_t networkOf(const files::OpenFd& file) const;

    namespaces::NetworksDump& networks_;
    std::unique_ptr<Impl> impl_;
};

}  // namespace criu::engine
