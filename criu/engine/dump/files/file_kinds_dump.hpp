// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <span>

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

/// Dump halves of all fd kinds. Runs each half in the network namespace of the file.
class FileKindsDump {
public:
    /// Dump half of an fd kind, and the kind's file type in images.
    struct Kind {
        FdTypes type = FD_TYPES__UND;
        std::unique_ptr<files::FileKindDump> half;
    };

    /// All arguments must outlive this object. `mayInject`: false if injected code could harm a process, in a dry run
    /// that has refused the process. `ghostLimit`: maximum size of a ghost file in bytes.
    FileKindsDump(memory::SegmentsDump& segments, device::DumpDevices& devices, FrozenTree& tree, bool mayInject,
                  const namespaces::DumpNsContext& around, std::uint64_t ghostLimit, Log& log);
    ~FileKindsDump();
    FileKindsDump(const FileKindsDump&) = delete;
    FileKindsDump& operator=(const FileKindsDump&) = delete;

    /// Returns the fd kind that claims the file. Throws Error if no kind claims it.
    [[nodiscard]] const Kind& of(const files::OpenFd& file) const;
    /// Sets the network namespace of a file, and calls FileKindDump::prepare() of the file's kind in this namespace.
    /// Any thread may call this function.
    void prepare(files::OpenFd& file, Arena& arena) const;
    /// Fills the entry of a file of this kind, in the file's network namespace.
    void dump(const files::OpenFd& file, const Kind& kind, FileEntry& entry, files::FileDump& dump) const;
    /// Calls files::PathDump::fill() for the entry of a path.
    void fillPath(const files::OpenFd& file, std::uint32_t flags, bool wantBuildId, RegFileEntry& out,
                  files::FileDump& dump);

    /// Returns the id of the network namespace of the root.
    [[nodiscard]] std::uint32_t networkNumber() const;

    /// Completes entries and writes the images of single fd kinds. Call it after the last file was added.
    void finish(files::FileDump& dump, const ImageDir& images);
    /// Calls files::FileKindDump::prepareKill() of all fd kinds. Throws Error.
    void prepareKill();
    /// Ends the dump of files. Removes link remaps if the processes continue; else keeps them for the images.
    void end(files::FinalTaskState aftermath, Log& log) noexcept;

private:
    struct Impl;

    [[nodiscard]] std::uint32_t networkOf(const files::OpenFd& file) const;

    namespaces::NetworksDump& networks_;
    std::unique_ptr<Impl> impl_;
};

/// Refuses rings with a kernel thread that an epoll file watches which only the queue of a socket contains. A restore
/// creates such a ring after the queue, when no process has a descriptor of the epoll file (watchedRings()). `entries`:
/// all files of the dump. Throws Error.
void refuseWatchedRings(std::span<FileEntry* const> entries, const files::FileDump& dump);

}  // namespace criu::engine
