// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/log.hpp"
#include "criu/base/stop_request.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/nslinks.hpp"
#include "criu/kernel/outside_help.hpp"
#include "criu/model/id_map.hpp"
#include "criu/model/options.hpp"
#include "criu/model/process_tree.hpp"
#include "criu/pie/program_builder.hpp"
#include "images/fdinfo.fwd.hpp"
#include "images/fown.fwd.hpp"

/// What every kind of open file implements. Adding a kind is one source file with both halves and one line in
/// engine/file_kinds.cpp.
namespace criu::files {

class FileDump;
class FileRestore;
class FileOpener;
class PlacedFiles;
class RestoredTree;

/// One thing to be opened on restore: an open file description, or several that can only be made together (the ends
/// of a pipe, a socket pair). Made while images are read, before any process exists.
class RestoredFile {
public:
    virtual ~RestoredFile() = default;

    /// For messages: "pipe:[123]", "/var/log/x".
    [[nodiscard]] virtual std::string describe() const = 0;

    /// Makes the descriptions, each handed over with opener.provide(). Runs once, in the process nearest to the root
    /// from which all users descend; they inherit what they need.
    virtual void open(FileOpener& opener) = 0;

    /// Whether it can be opened only when all processes of the tree exist: a pidfd. Then open() runs in the first of
    /// its users instead, after that has placed all else; other users get their descriptors from there.
    [[nodiscard]] virtual bool late() const { return false; }

    /// Whether others go on to work for it once it is open, so that it should be before anything that takes long:
    /// before memory is filled and children are created. Not together with late().
    [[nodiscard]] virtual bool early() const { return false; }

    /// Of a late file: whether it can be opened in this process. If it can't in any of its users, the leader of
    /// session() opens it.
    [[nodiscard]] virtual bool opensIn(const model::Task&) const { return true; }

    /// The session, as the image numbers it, whose terminal this is. If its leader is of the tree, it counts as a user
    /// of the file, and has it open when beginSession() and groupsJoined() are called there.
    [[nodiscard]] virtual std::optional<pid_t> session() const { return std::nullopt; }

    /// Runs in the session's leader, when that has begun the session and is alone in it.
    virtual void beginSession(FileOpener&) {}

    /// Runs in the session's leader, when all processes are in their groups. For a session that isn't of the tree: in
    /// the tree's root, if that has been put into the session of criu.
    virtual void groupsJoined(PlacedFiles&) {}

    /// Runs once, in a process that uses the file, after all processes of the tree exist and have their descriptors
    /// in place: for what refers to descriptor numbers or processes.
    virtual void complete(PlacedFiles&) {}

    /// The signal owner (F_SETOWN) recorded for one of the descriptions; null if it has none. Set by the framework.
    [[nodiscard]] virtual const FownEntry* owner(FileId) const { return nullptr; }

    /// The description that the kernel is to be given memory of a process for, when that is in place.
    [[nodiscard]] virtual std::optional<FileId> registersMemory() const { return std::nullopt; }

    /// Steps for that: of the process that has the file mapped, where `fd` is its number.
    virtual void addMemorySteps(int /*fd*/, pie::StepList&, pie::RemoteData&) const {}

    /// Descriptions that must be open when open() is called: those in flight, in the queues of sockets. Nobody may have
    /// them as a descriptor; then they are opened in the same process as this one, where find() has them.
    [[nodiscard]] virtual std::vector<FileId> needs() const { return {}; }
};

/// What becomes of the processes after a dump.
enum class Aftermath : std::uint8_t {
    Run,   ///< they go on at once: the dump failed, or is to leave them running
    Stop,  ///< they stay stopped, for others to decide
    End,   ///< they are gone: the images have everything
};

/// The rules for one kind of file. Instances belong to one run and may keep state of it.
class FileKind {
public:
    virtual ~FileKind() = default;

    /// How images call the kind.
    [[nodiscard]] virtual FdTypes type() const = 0;

    /// Dump: whether this kind handles the description. Kinds are asked in the order of the list.
    [[nodiscard]] virtual bool claims(const OpenFd& file) const = 0;

    /// Dump: asks the kernel ahead of dump() for what can be had from the description alone, and composes what it can
    /// of the sub-message, in `arena`; dump() finds it in OpenFd::prepared. Null for files that aren't of the kind. May
    /// be called by several threads at once, and in vain.
    [[nodiscard]] virtual ProtobufCMessage* prepare(const OpenFd&, Arena&) { return nullptr; }

    /// Dump: fills the sub-message of `entry` (type and id are set). Throws Error to refuse, before anything is
    /// changed. The entry is written after finishDump() and may be changed until then.
    virtual void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) = 0;

    /// Dump: after all files were seen: completes entries that refer to other files, writes images of the kind's own.
    virtual void finishDump(FileDump&) {}

    /// Dump: its end, failed or not: takes back what was changed in the processes' files for the time of the dump, as
    /// far as they go on with them. Called once, while they still stand still (or are gone).
    virtual void settle(Aftermath, Log&) noexcept {}

    /// Restore: before any entry is collected; reads images of the kind's own.
    virtual void prepareRestore(FileRestore&) {}

    /// Restore: the object that will open this entry; the same for entries that are made together.
    virtual std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore& restore) = 0;

    /// Restore, in the process that directs it: all is planned, no process exists yet.
    virtual void beforeProcesses() {}

    /// Restore, in the process that directs it: all is in place and stands still; after this the processes run.
    virtual void finishRestore(RestoredTree&) {}
};

/// The kinds of a run, in order of asking.
using FileKinds = std::vector<std::unique_ptr<FileKind>>;

/// A descriptor of a process that is dumped. Processes that share a table count as one, the first of them.
struct SeenFd {
    pid_t pid = 0;
    int fd = -1;
    FileId id;
};

/// A session that processes of the tree are in.
struct SeenSession {
    pid_t sid = 0;
    bool leaderDumped = false;
    dev_t terminal = 0;    ///< the terminal that controls it; 0: none
    pid_t foreground = 0;  ///< process group in the foreground of that
};

/// What a kind may use while dumping.
class FileDump {
public:
    virtual ~FileDump() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// To be looked at between pieces of whatever takes long.
    [[nodiscard]] virtual StopRequest& stop() = 0;
    /// Messages made here live until they are written.
    [[nodiscard]] virtual Arena& arena() = 0;
    /// A new id, for entries without a descriptor (a fifo's path, link-remap names).
    virtual FileId nextId() = 0;
    /// Adds an entry to files.img that no descriptor refers to.
    virtual void add(FileEntry& entry) = 0;
    /// The entry that FileKind::dump() is filling isn't to be added when that returns: the kind does so itself, later
    /// at the latest in finishDump(). For kinds whose entries must be in some order.
    virtual void hold(const FileEntry& entry) = 0;
    /// Dumps a path that is no descriptor of anybody, as a regular-file entry: the path of a fifo or terminal.
    virtual FileId addPath(const OpenFd& file, std::uint32_t flags) = 0;
    /// The id of a description that was found in flight, not in a descriptor table; dumped now if it is new.
    virtual FileId addInFlight(UniqueFd fd) = 0;
    /// Whether a plugin might carry unix sockets that are connected to the outside.
    [[nodiscard]] virtual bool pluginsTakeSockets() const = 0;
    /// Has a plugin carry one; false if none does. `fd` stays the caller's.
    virtual bool giveSocketToPlugin(int fd, std::uint32_t inode) = 0;
    /// The owner settings (F_GETOWN_EX, F_GETSIG, F_GETOWNER_UIDS) of a description, as an image message.
    virtual FownEntry* owner(const OpenFd& file) = 0;
    /// Descriptions of an inode, each by the first descriptor seen. All are known in finishDump().
    [[nodiscard]] virtual std::vector<SeenFd> seen(dev_t device, ino_t inode) const = 0;
    /// The number by which images know the network namespace that the tree, and so all its sockets, are in.
    [[nodiscard]] virtual std::uint32_t networkNumber() const = 0;
    /// Users and groups, as the tree calls them.
    [[nodiscard]] virtual const model::IdMap& ids() const = 0;
    /// The number by which images know a namespace, by its inode; nothing if it is not the tree's.
    [[nodiscard]] virtual std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind kind,
                                                                       std::uint32_t inode) const = 0;
    /// Whether a process (by its pid here) belongs to the tree, so that it will exist on restore.
    [[nodiscard]] virtual bool isDumped(pid_t pid) const = 0;
    /// Where absolute paths of the processes begin.
    [[nodiscard]] virtual const TreeRoot& treeRoot() const = 0;
    /// Sessions of the tree's living processes.
    [[nodiscard]] virtual std::span<const SeenSession> sessions() const = 0;
    /// All descriptors of a process by ascending number, once its table was dumped.
    [[nodiscard]] virtual std::span<const SeenFd> descriptorsOf(pid_t pid) const = 0;
};

/// What a kind may use while images are read.
class FileRestore {
public:
    virtual ~FileRestore() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// The entry of an id; throws Error if the images have none.
    [[nodiscard]] virtual const FileEntry& entry(FileId id) const = 0;
    /// All entries of a kind, in order of their ids.
    [[nodiscard]] virtual std::vector<const FileEntry*> entries(FdTypes type) const = 0;
    /// The number of the namespace of a kind that the tree was in; nothing if the images don't say.
    [[nodiscard]] virtual std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind kind) const = 0;
    /// Whether the image has a process of this pid.
    [[nodiscard]] virtual bool hasProcess(pid_t pid) const = 0;
    /// The object that restores an id; collected now if it wasn't yet.
    virtual std::shared_ptr<RestoredFile> file(FileId id) = 0;
    /// All descriptions in the descriptor tables that `id` is in, by ascending number of their descriptors.
    [[nodiscard]] virtual std::vector<FileId> besides(FileId id) const = 0;
    /// The processes that have the description.
    [[nodiscard]] virtual std::vector<pid_t> users(FileId id) const = 0;
};

/// What open() may use, in a restored process.
class FileOpener {
public:
    virtual ~FileOpener() = default;
    [[nodiscard]] virtual const model::Options& options() const = 0;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Who does what takes rights outside of the tree's user namespace; null if the tree has none of its own.
    [[nodiscard]] virtual const kernel::OutsideHelp* help() const = 0;
    /// Hands over the description for `id`. It is put at its numbers (or kept for children) at once.
    virtual void provide(FileId id, UniqueFd fd) = 0;
    /// Moves a descriptor out of the range of numbers that restored files need. For kinds that hold several
    /// descriptors at a time: one at a low number could be where provide() has to put another.
    virtual UniqueFd lift(UniqueFd fd) = 0;
    /// A descriptor of an id that is open in this process or that this process inherited; -1 if there is none.
    [[nodiscard]] virtual int find(FileId id) const = 0;
    /// Whether a process of the tree will have the id as a descriptor, so that RestoredTree can fetch it.
    [[nodiscard]] virtual bool isHeld(FileId id) const = 0;
    /// The descriptor that --inherit-fd gives for a name; -1 if none. It stays the caller's: copy it.
    [[nodiscard]] virtual int inherited(std::string_view name) const = 0;
    /// Has a plugin make a unix socket that was given to it at the dump; empty if none does.
    virtual UniqueFd socketOfPlugin(std::uint32_t inode) = 0;
    /// Opens a path entry (a regular-file entry) afresh with other flags: for fifos, terminals, mappings.
    virtual UniqueFd openPath(FileId regular, int flags) = 0;
    /// Instead of provide(): what is needed isn't there yet. RestoredFile::open() is called again when other files have
    /// been opened; the restore fails if that doesn't help.
    virtual void postpone() = 0;
    /// The same for devices whose permissions are yet to be restored: they may differ from those in the image.
    virtual UniqueFd openDevice(FileId regular, int flags) = 0;
    /// The terminal criu was started from (--shell-job); -1 if there is none. It stays the caller's.
    [[nodiscard]] virtual int ownTerminal() const = 0;
    /// Gives a master to whoever wants those that the tree hasn't got (Options::orphanPtsMaster).
    virtual void handOver(UniqueFd master) = 0;
};

/// What complete() may use: this process' descriptors at their final numbers.
class PlacedFiles {
public:
    virtual ~PlacedFiles() = default;
    [[nodiscard]] virtual Log& log() = 0;
    [[nodiscard]] virtual const ImageDir& images() const = 0;
    /// Who does what takes rights outside of the tree's user namespace; null if the tree has none of its own.
    [[nodiscard]] virtual const kernel::OutsideHelp* help() const = 0;
    /// A descriptor of this process that refers to the id; -1 if it has none.
    [[nodiscard]] virtual int find(FileId id) const = 0;
    /// Moves a descriptor out of the range of numbers that restored files need.
    virtual UniqueFd lift(UniqueFd fd) = 0;
    /// The process group that stands for one of the image: the same, or criu's own for that which the root was put
    /// into. 0 if no process of the tree is in it.
    [[nodiscard]] virtual pid_t groupFor(pid_t image) const = 0;
    /// The terminal criu was started from (--shell-job); -1 if there is none. It stays the caller's.
    [[nodiscard]] virtual int ownTerminal() const = 0;
    /// A descriptor, out of that range, of an id that any process of the tree has.
    virtual UniqueFd fetch(FileId id) = 0;
};

/// What finishRestore() may use.
class RestoredTree {
public:
    virtual ~RestoredTree() = default;
    /// Whether some process has the id as a descriptor.
    [[nodiscard]] virtual bool isHeld(FileId id) const = 0;
    /// A copy of a descriptor of an id that some process has.
    virtual UniqueFd fetch(FileId id) = 0;
};

}  // namespace criu::files
