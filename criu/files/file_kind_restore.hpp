// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>

#include "images/fdinfo.fwd.hpp"

namespace criu::files {
class FileRestore;
class RestoredFile;
class RestoredTree;

/// The half of a kind of files that restores them. One object lives for one restore and may have state of it. All is
/// called in the process that directs the restore; what happens in restored processes is RestoredFile's.
class FileKindRestore {
public:
    virtual ~FileKindRestore() = default;

    /// Before any entry is collected; reads images of the kind's own.
    virtual void prepare(FileRestore&) {}

    /// The object that will open this entry; the same for entries that are made together.
    virtual std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore& restore) = 0;

    /// All is collected: throws Error if the user has to give something (options, descriptors) that isn't given.
    virtual void requireGiven(FileRestore&) const {}

    /// All is planned, no process exists yet.
    virtual void beforeProcesses() {}

    /// All is in place and stands still; after this the processes run.
    virtual void finish(RestoredTree&) {}
};

}  // namespace criu::files
