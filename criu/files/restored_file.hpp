// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "images/fown.fwd.hpp"

namespace criu::pie {
class RemoteData;
class StepList;
}  // namespace criu::pie

namespace criu {
class Log;
}

namespace criu::model {
struct Options;
}

namespace criu::files {

class FileOpener;
class MemoryRegistrar;
class PlacedFiles;
class PolledRing;
class SessionTerminal;

/// Place in which a restore will open a file.
struct Surroundings {
    const model::Options& options;
    Log& log;
    /// Takes texts about parts that a restore doesn't refuse, but that may not work.
    const std::function<void(std::string text)>& remark;
    bool sharesNetwork = false;  ///< true if the file is opened in criu's network namespace
    bool sharesPaths = false;    ///< true if paths lead to the same files in the tree as in criu
};

/// Object that a restore opens: one open file description, or several that one call must create together (a pipe, a
/// socket pair). The coordinator constructs the object from the images. Restored processes use copies that they inherit
/// by fork.
class RestoredFile {
public:
    virtual ~RestoredFile() = default;

    /// Returns a text such as "pipe:[123]" or "/var/log/x", for messages.
    [[nodiscard]] virtual std::string describe() const = 0;

    /// Creates the open file descriptions and passes each to opener.provide(). Runs once, in the nearest common
    /// ancestor of all processes that use them, so that these processes inherit the descriptors.
    virtual void open(FileOpener& opener) = 0;

    /// Throws Error if open() would fail now, as far as criu can find out before any process exists. Runs in the
    /// coordinator, and changes nothing.
    virtual void requireOpenable(const Surroundings&) const {}

    /// Returns true for a late file, such as a pidfd: it can be opened only when all processes of the tree exist. After
    /// all other files are open, open() runs in one process that uses the file. Other such processes fetch their
    /// descriptors from this process.
    [[nodiscard]] virtual bool late() const { return false; }

    /// Returns true if other processes act on the object after open(). criu then opens it before it fills memory and
    /// creates children. Must not be true together with late().
    [[nodiscard]] virtual bool early() const { return false; }

    /// Returns open file descriptions that must be open before open() is called, for instance because they are in
    /// flight in a queue of this socket. If no process has a descriptor of one, criu opens it in the process that calls
    /// open(). FileOpener::find() returns it there.
    [[nodiscard]] virtual std::vector<FileId> needs() const { return {}; }

    /// Returns true if open() itself creates each open file description in its namespaces, by FileOpener::inNetwork()
    /// and onMount(). If false, all of them must be in one network namespace, and have names in one mount namespace.
    [[nodiscard]] virtual bool spansNamespaces() const { return false; }

    /// Restores state that refers to descriptor numbers or processes. Runs once in a process that uses the file, after
    /// all processes exist and have their descriptors.
    virtual void complete(PlacedFiles&) {}

    /// Adds the system calls by which a process finishes the file by its descriptor `fd` if criu is killed between the
    /// commit of the restore and FileKindRestore::finish(). They may fail, because the process may lack a privilege.
    virtual void addFinish(int /*fd*/, pie::StepList&, pie::RemoteData&) const {}

    /// Returns the dumped signal owner (F_SETOWN) of an open file description, or null if it had none. The engine
    /// restores it.
    [[nodiscard]] virtual const FownEntry* owner(FileId) const { return nullptr; }

    // Interfaces that only some files have.

    /// Returns null for files other than terminals.
    [[nodiscard]] virtual SessionTerminal* asTerminal() { return nullptr; }
    /// Returns null for files without registered memory.
    [[nodiscard]] virtual const MemoryRegistrar* asMemoryRegistrar() const { return nullptr; }
    /// Returns null for files other than rings with a kernel thread.
    [[nodiscard]] virtual const PolledRing* asPolledRing() const { return nullptr; }
};

}  // namespace criu::files
