// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <vector>

#include "criu/base/ids.hpp"
#include "images/fown.fwd.hpp"

namespace criu::files {

class FileOpener;
class MemoryRegistrar;
class PlacedFiles;
class SessionTerminal;

/// An object to restore: one open file description, or several that must be created together (a pipe, a socket pair).
/// Constructed while images are read; restored processes use forked copies.
class RestoredFile {
public:
    virtual ~RestoredFile() = default;

    /// Returns "pipe:[123]" or "/var/log/x", for messages.
    [[nodiscard]] virtual std::string describe() const = 0;

    /// Creates the descriptions and passes each to opener.provide(). Runs once, in the process nearest to the root from
    /// which all users descend; they inherit the descriptors.
    virtual void open(FileOpener& opener) = 0;

    /// True for a late file, which needs all processes of the tree: a pidfd. open() then runs in one of its users after
    /// all other files; other users fetch their descriptors from there.
    [[nodiscard]] virtual bool late() const { return false; }

    /// True if other processes work for the object after open(). It is then opened first, before memory is filled and
    /// children are created. Excludes late().
    [[nodiscard]] virtual bool early() const { return false; }

    /// Returns descriptions that must be open before open() is called: those in flight in the queues of sockets. If no
    /// process has one as a descriptor, it is opened in the same process, where find() returns it.
    [[nodiscard]] virtual std::vector<FileId> needs() const { return {}; }

    /// True if open() creates each description in its namespaces by FileOpener::inNetwork() and onMount(). Otherwise
    /// all must be in one network namespace and have names in one mount namespace.
    [[nodiscard]] virtual bool spansNamespaces() const { return false; }

    /// Runs once in a process that uses the file, when all processes exist and have their descriptors. For state that
    /// refers to descriptor numbers or processes.
    virtual void complete(PlacedFiles&) {}

    /// Returns the recorded signal owner (F_SETOWN) of one of the descriptions; null if it has none. The engine sets
    /// it.
    [[nodiscard]] virtual const FownEntry* owner(FileId) const { return nullptr; }

    // Interfaces that only some files have.

    /// Null for files other than terminals.
    [[nodiscard]] virtual SessionTerminal* asTerminal() { return nullptr; }
    /// Null for files without registered memory.
    [[nodiscard]] virtual const MemoryRegistrar* asMemoryRegistrar() const { return nullptr; }
};

}  // namespace criu::files
