// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "images/fdinfo.fwd.hpp"

namespace criu::files {
class FileRestore;
class RestoredFile;
class RestoredTree;

/// Restore half of an fd kind. One object lives for one restore and may keep state. All functions run in the
/// coordinator; RestoredFile runs in restored processes.
class FileKindRestore {
public:
    virtual ~FileKindRestore() = default;

    /// Reads images of this kind. Called before the first collect().
    virtual void prepare(FileRestore&) {}

    /// Returns the object that opens the file of an entry. Returns the same object for all entries that one open()
    /// creates.
    virtual std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore& restore) = 0;

    /// Throws Error if an option or descriptor is missing that the user must pass. Called after all entries are
    /// collected.
    virtual void requireGiven(FileRestore&) const {}

    /// Called after the restore is planned, and before criu creates any process.
    virtual void beforeProcesses() {}

    /// Called when all files are open and all processes are frozen, directly before the processes run.
    virtual void finish(RestoredTree&) {}
};

}  // namespace criu::files
