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

/// State in which a dump leaves the processes.
enum class FinalTaskState : std::uint8_t {
    Run,   ///< running: the dump failed, or the user wants the processes to run
    Stop,  ///< stopped, so that the user can decide whether they continue
    End,   ///< ended: the images are complete, and criu has killed the processes
};

/// Dump half of an fd kind. One object exists for one dump and may have state.
class FileKindDump {
public:
    virtual ~FileKindDump() = default;

    /// Returns true if this kind dumps the open file description. criu queries the kinds in the order of their list.
    [[nodiscard]] virtual bool claims(const OpenFd& file) const = 0;

    /// Reads the data that criu can get from the descriptor alone. Composes the message of this kind in `arena`; dump()
    /// finds it in OpenFd::prepared. Returns null for files of other kinds. Several threads may call this at the same
    /// time, even for descriptors that criu won't dump.
    [[nodiscard]] virtual ProtobufCMessage* prepare(const OpenFd&, Arena&) { return nullptr; }

    /// Fills the message of this kind in `entry`; type and id of `entry` are already set. Throws Error to refuse the
    /// file. Must not change the file. criu writes the entry only after finish(), so that this kind may change it until
    /// then.
    virtual void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) = 0;

    /// Completes entries that refer to other files, and writes images of this kind. Called after all files were dumped.
    virtual void finish(FileDump&) {}

    /// Called when the images are complete, directly before criu kills the processes. Changes in the kernel that would
    /// harm the processes if criu died are allowed only here. If it throws Error, criu resumes the processes.
    virtual void prepareKill() {}

    /// Reverts temporary changes of the processes' files. Called once at the end of every dump, while the processes are
    /// frozen or have ended.
    virtual void end(FinalTaskState, Log&) noexcept {}
};

}  // namespace criu::files
