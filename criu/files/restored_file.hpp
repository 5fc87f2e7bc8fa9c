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

/// One thing to be opened on restore: an open file description, or several that can only be made together (the ends
/// of a pipe, a socket pair). Made while images are read, before any process exists; forked copies of it work in the
/// processes.
class RestoredFile {
public:
    virtual ~RestoredFile() = default;

    /// For messages: "pipe:[123]", "/var/log/x".
    [[nodiscard]] virtual std::string describe() const = 0;

    /// Makes the descriptions, each handed over with opener.provide(). Runs once, in the process nearest to the root
    /// from which all users descend; they inherit what they need.
    virtual void open(FileOpener& opener) = 0;

    /// Whether it can be opened only when all processes of the tree exist: a pidfd. Then open() runs in one of its
    /// users instead, after that has placed all else; other users get their descriptors from there.
    [[nodiscard]] virtual bool late() const { return false; }

    /// Whether others go on to work for it once it is open, so that it should be before anything that takes long:
    /// before memory is filled and children are created. Not together with late().
    [[nodiscard]] virtual bool early() const { return false; }

    /// Descriptions that must be open when open() is called: those in flight, in the queues of sockets. Nobody may have
    /// them as a descriptor; then they are opened in the same process as this one, where find() has them.
    [[nodiscard]] virtual std::vector<FileId> needs() const { return {}; }

    /// Whether open() makes each description in the namespaces that it is of, by FileOpener::inNetwork() and onMount().
    /// Otherwise all of them have to be of one network namespace, and have names in one mount namespace.
    [[nodiscard]] virtual bool spansNamespaces() const { return false; }

    /// Runs once, in a process that uses the file, after all processes of the tree exist and have their descriptors
    /// in place: for what refers to descriptor numbers or processes.
    virtual void complete(PlacedFiles&) {}

    /// The signal owner (F_SETOWN) recorded for one of the descriptions; null if it has none. Set by the framework.
    [[nodiscard]] virtual const FownEntry* owner(FileId) const { return nullptr; }

    // What only some files are, too.

    /// Null for what isn't a terminal.
    [[nodiscard]] virtual SessionTerminal* asTerminal() { return nullptr; }
    /// Null for what isn't given memory of a process.
    [[nodiscard]] virtual const MemoryRegistrar* asMemoryRegistrar() const { return nullptr; }
};

}  // namespace criu::files
