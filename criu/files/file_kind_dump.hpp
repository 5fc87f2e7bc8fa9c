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

/// State of the processes after a dump.
enum class FinalTaskState : std::uint8_t {
    Run,   ///< running: the dump failed, or is to leave them running
    Stop,  ///< stopped, for the user to decide
    End,   ///< ended: the images have everything
};

/// The dump half of a fd kind. One object lives for one dump and may keep state.
class FileKindDump {
public:
    virtual ~FileKindDump() = default;

    /// True if this kind handles the description. Kinds are queried in the order of their list.
    [[nodiscard]] virtual bool claims(const OpenFd& file) const = 0;

    /// Reads from the kernel before dump() what the description alone gives, and composes the sub-message in `arena`.
    /// dump() finds it in OpenFd::prepared. Null for files of other kinds. Several threads may call it at once, also
    /// for descriptions that are never dumped.
    [[nodiscard]] virtual ProtobufCMessage* prepare(const OpenFd&, Arena&) { return nullptr; }

    /// Fills the sub-message of `entry` (type and id are set). Throws Error to refuse, before anything is changed. The
    /// entry is written after finish() and may change until then.
    virtual void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) = 0;

    /// Called when all files were dumped. Completes entries that refer to other files, and writes images of this kind.
    virtual void finish(FileDump&) {}

    /// Called when the images are complete, right before the processes are killed. Until then nothing may stay in the
    /// kernel that harms the processes if criu dies. Throws Error, which resumes the processes.
    virtual void prepareKill() {}

    /// Called once at the end of a dump, failed or not, while the processes are frozen or have ended. Reverts temporary
    /// changes of files that the processes keep.
    virtual void end(FinalTaskState, Log&) noexcept {}
};

}  // namespace criu::files
