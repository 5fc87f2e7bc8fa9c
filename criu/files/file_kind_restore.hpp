// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "images/fdinfo.fwd.hpp"

namespace criu::files {
class FileRestore;
class RestoredFile;
class RestoredTree;

/// Restore half of an fd kind. One object exists for one restore and may have state. All functions run in the
/// coordinator, unlike those of RestoredFile, which run in restored processes.
class FileKindRestore {
public:
    virtual ~FileKindRestore() = default;

    /// Reads images of this kind. Called before the first collect().
    virtual void prepare(FileRestore&) {}

    /// Returns the object that opens the file of an entry. If one open() call creates the files of several entries,
    /// returns the same object for them.
    virtual std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore& restore) = 0;

    /// Throws Error if the user must pass an option or a descriptor and hasn't. Called after all entries are collected.
    virtual void requireGiven(FileRestore&) const {}

    /// Called after the restore is planned, and before criu creates any process.
    virtual void beforeProcesses() {}

    /// Makes the files usable for the processes. Called when all files are open and all processes are frozen, after the
    /// commit of the restore. If criu is killed before it, processes run with unfinished files.
    virtual void finish(RestoredTree&) {}

    /// Opens the network. Called after finish(), and directly before the processes run.
    virtual void open(RestoredTree&) {}
};

}  // namespace criu::files
