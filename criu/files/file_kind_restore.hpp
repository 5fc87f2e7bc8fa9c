// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "images/fdinfo.fwd.hpp"

namespace criu::files {
class FileRestore;
class RestoredFile;
class RestoredTree;

/// The restore half of a fd kind. One object lives for one restore and may keep state. All functions run in the
/// coordinator; RestoredFile does the work in restored processes.
class FileKindRestore {
public:
    virtual ~FileKindRestore() = default;

    /// Called before entries are collected. Reads images of this kind.
    virtual void prepare(FileRestore&) {}

    /// Returns the object that opens this entry; the same object for entries that are created together.
    virtual std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore& restore) = 0;

    /// Called when all entries are collected. Throws Error if the user must pass an option or a descriptor and hasn't.
    virtual void requireGiven(FileRestore&) const {}

    /// Called when the restore is planned and no process exists yet.
    virtual void beforeProcesses() {}

    /// Called when all files are open and the processes are frozen. They run afterwards.
    virtual void finish(RestoredTree&) {}
};

}  // namespace criu::files
