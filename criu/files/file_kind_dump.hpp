// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>

#include "images/fdinfo.fwd.hpp"

namespace criu {
class Arena;
class Log;
}  // namespace criu

namespace criu::files {
class FileDump;
struct OpenFd;

/// State of the processes after the dump.
enum class FinalTaskState : std::uint8_t {
    Run,   ///< running: the dump failed, or the user wants the processes to run
    Stop,  ///< stopped, so that the user can decide
    End,   ///< ended, because the images are complete
};

/// Dump half of an fd kind. One object lives for one dump and may keep state.
class FileKindDump {
public:
    virtual ~FileKindDump() = default;

    /// Returns true if this kind dumps the open file description. criu queries the kinds in the order of their list.
    [[nodiscard]] virtual bool claims(const OpenFd& file) const = 0;

    /// Reads the data that criu can get from the descriptor alone, before dump(). Composes the message of this kind in
    /// `arena`; dump() finds it in OpenFd::prepared. Returns null for files of other kinds. Several threads may call it
    /// at the same time, even for descriptors that criu never dumps.
    [[nodiscard]] virtual ProtobufCMessage* prepare(const OpenFd&, Arena&) { return nullptr; }

    /// Fills the message of this kind in `entry`, whose type and id are set. Throws Error to refuse the file. It must
    /// not change the file. The entry may change until finish() returns; criu writes it afterwards.
    virtual void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) = 0;

    /// Completes entries that refer to other files, and writes images of this kind. Called after all files were dumped.
    virtual void finish(FileDump&) {}

    /// Called when the images are complete, directly before criu kills the processes. Only here may a kind make changes
    /// in the kernel that would harm the processes if criu died. If it throws Error, criu resumes the processes.
    virtual void prepareKill() {}

    /// Reverts temporary changes of files that the processes keep. Called once at the end of every dump, while the
    /// processes are frozen or have ended.
    virtual void end(FinalTaskState, Log&) noexcept {}
};

}  // namespace criu::files
