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

/// What becomes of the processes after a dump.
enum class FinalTaskState : std::uint8_t {
    Run,   ///< they go on at once: the dump failed, or is to leave them running
    Stop,  ///< they stay stopped, for others to decide
    End,   ///< they are gone: the images have everything
};

/// The half of a kind of files that dumps them. One object lives for one dump and may have state of it.
class FileKindDump {
public:
    virtual ~FileKindDump() = default;

    /// Whether this kind handles the description. Kinds are asked in the order of their list.
    [[nodiscard]] virtual bool claims(const OpenFd& file) const = 0;

    /// Asks the kernel ahead of dump() for what can be had from the description alone, and composes what it can of the
    /// sub-message, in `arena`; dump() finds it in OpenFd::prepared. Null for files that aren't of the kind. May be
    /// called by several threads at once, and for descriptions that are never dumped.
    [[nodiscard]] virtual ProtobufCMessage* prepare(const OpenFd&, Arena&) { return nullptr; }

    /// Fills the sub-message of `entry` (type and id are set). Throws Error to refuse, before anything is changed. The
    /// entry is written after finish() and may be changed until then.
    virtual void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) = 0;

    /// After all files were seen: completes entries that refer to other files, writes images of the kind's own.
    virtual void finish(FileDump&) {}

    /// The dump is over, failed or not: undoes what was changed in the processes' files for the time of the dump, as
    /// far as they go on with them. Called once, while they still stand still (or are gone).
    virtual void end(FinalTaskState, Log&) noexcept {}
};

}  // namespace criu::files
