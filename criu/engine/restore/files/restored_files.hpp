// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/engine/fwd.hpp"
#include "criu/engine/restore/files/inherited_fds.hpp"
#include "criu/engine/restore/files/late_files.hpp"
#include "criu/engine/restore/files/path_rights.hpp"
#include "criu/files/file_kind.fwd.hpp"
#include "criu/files/file_locks.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/regular.hpp"
#include "criu/files/restored_tree.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/kernel/proc/pidfd.hpp"
#include "criu/model/file_plan.hpp"
#include "criu/tty/outside_terminals.hpp"

namespace criu {
class Refusals;
}  // namespace criu

namespace criu::files {
class PolledRing;
}

namespace criu::engine {

/// Object that a process opens once, with one or several open file descriptions, such as both ends of a pipe.
struct CollectedFile {
    std::shared_ptr<files::RestoredFile> file;
    std::vector<FileId> ids;       ///< open file descriptions of the object that a process has or another file needs
    std::uint32_t network = 0;     ///< id of the network namespace in which the object is opened; 0 for any
    std::uint32_t names = 0;       ///< id of the mount namespace in which the object's names are looked up; 0 for any
    bool severalNetworks = false;  ///< true if open() itself enters the network namespaces
    bool severalNames = false;     ///< true if open() itself enters the mount namespaces
};

/// All files of a restore. Fd kinds collect the files from the images. model::FilePlan assigns each file to a process
/// before any process exists. Restored processes and the coordinator execute this plan.
class RestoredFiles final : public files::FileRestore, private files::RestoredTree {
public:
    struct Inputs {
        const model::Options& options;
        Log& log;
        const ImageDir& images;
        RestoreImages& content;
        const model::BirthPlan& births;
        const memory::Segments& segments;
        sockets::NetworkLock& network;
        device::RestoreDevices& devices;
        Refusals& refusals;  ///< collector for missing options
    };
    /// Makes the fd kinds. make() then collects the files. All inputs must outlive this object.
    explicit RestoredFiles(const Inputs& inputs);
    ~RestoredFiles() override;

    /// Collects and plans all files. Throws Error if the images are inconsistent, or if there is a file that no process
    /// can open.
    void make();

    /// Chooses the mount namespace for the names of each Unix socket. Throws Error for a Unix group with names in
    /// several mount namespaces. `spaceOf`: returns the id of the mount namespace that contains a mount; 0 if none
    /// contains it.
    void planNames(const std::function<std::uint32_t(int mount)>& spaceOf);

    [[nodiscard]] InheritedFds& inheritedFds() noexcept { return inherited_; }
    [[nodiscard]] const InheritedFds& inheritedFds() const noexcept { return inherited_; }
    [[nodiscard]] tty::OutsideTerminals& terminals() noexcept { return terminals_; }
    [[nodiscard]] const files::PathRemaps& remaps() const noexcept { return remaps_; }
    [[nodiscard]] const PathRights& rights() const noexcept { return rights_; }
    [[nodiscard]] const LateFiles& late() const noexcept { return late_; }
    [[nodiscard]] const files::LockRestore& locks() const noexcept { return locks_; }
    [[nodiscard]] const device::RestoreDevices& devices() const noexcept { return in_.devices; }
    [[nodiscard]] const RestoreImages& content() const noexcept { return in_.content; }

    [[nodiscard]] const model::FilePlan& plan() const noexcept { return plan_; }
    /// Returns the number of open file descriptions in flight, for which no process has a descriptor.
    [[nodiscard]] std::size_t inFlight() const noexcept { return inFlight_; }
    /// Returns the file with this index in the plan.
    [[nodiscard]] const CollectedFile& at(std::size_t file) const { return collected_[file]; }
    [[nodiscard]] std::size_t count() const noexcept { return collected_.size(); }
    /// Returns the index of the object with this open file description; nothing for an unknown id.
    [[nodiscard]] std::optional<std::size_t> indexOf(FileId id) const;
    /// Returns the first process that maps the file. If none maps it, returns the first process that has a descriptor
    /// of it.
    [[nodiscard]] TreePid mapperOf(FileId id) const;
    /// Returns the rings with kernel threads that a process has and creates in the privilege drop. Rings that share the
    /// thread of another ring follow this ring.
    [[nodiscard]] std::vector<const files::PolledRing*> polledRingsOf(const model::Task& task) const;
    /// Returns the first process that has this open file description, and its descriptor. For a late file, valid after
    /// its opener has opened it. For other files, valid when all descriptors are at their numbers.
    [[nodiscard]] std::optional<FileHolder> holderOf(FileId id) const;

    /// Sets the usernsd, which makes calls for restored processes in a private user namespace.
    void setUsernsd(const kernel::Usernsd& usernsd) noexcept { usernsd_ = &usernsd; }
    [[nodiscard]] const kernel::Usernsd* usernsd() const noexcept { return usernsd_; }

    /// Lets the fd kinds begin their work. Call it when the plan is complete and the root waits at the gate.
    void begin();
    /// Sets owner thread ids. Call it when all processes are parked. `pids` must outlive the object. `ids`: id map of
    /// the tree's user namespace. Throws Error.
    void setOwners(const PidMap& pids, const model::IdMap& ids);
    /// Calls FileKindRestore::finish() of all kinds. Call it after setOwners().
    void finish();
    /// Calls FileKindRestore::open() of all kinds. Call it after finish().
    void open();
    /// Calls files::PathRemaps::noteLinks(). The functions below call create(), setMounts(), removeLinks() and
    /// recordLinks() of PathRemaps.
    void noteLinks() { remaps_.noteLinks(*this); }
    void createDeleted(const model::IdMap& ids, kernel::FdStore& store) { remaps_.create(*this, ids, store); }
    void setMounts(files::HiddenMounts hidden, files::MountLinker linker) {
        remaps_.setMounts(std::move(hidden), std::move(linker));
    }
    void removeLinks() const noexcept { remaps_.removeLinks(in_.log); }
    void recordLinks() const { remaps_.recordLinks(in_.log.journal()); }

    // Implementation of files::FileRestore
    [[nodiscard]] const model::Options& options() const override { return in_.options; }
    [[nodiscard]] Log& log() override { return in_.log; }
    [[nodiscard]] const ImageDir& images() const override { return in_.images; }
    [[nodiscard]] const FileEntry& entry(FileId id) const override;
    [[nodiscard]] std::vector<const FileEntry*> entries(FdTypes type) const override;
    [[nodiscard]] std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind kind) const override;
    [[nodiscard]] bool hasProcess(TreePid pid) const override;
    std::shared_ptr<files::RestoredFile> file(FileId id) override;
    [[nodiscard]] std::vector<FileId> besides(FileId id) const override;
    [[nodiscard]] std::vector<TreePid> users(FileId id) const override;
    [[nodiscard]] bool isStandardStream(FileId id) const override;

private:
    // Implementation of files::RestoredTree
    [[nodiscard]] bool isHeld(FileId id) const override;
    UniqueFd fetch(FileId id) override;

    [[nodiscard]] TreePid groupFor(TreePid image) const;
    void collectAll();
    void collect(FileId id);
    [[nodiscard]] std::vector<model::FileFacts> facts() const;
    [[nodiscard]] std::vector<model::FileUser> processes() const;

    /// Restore half of an fd kind, and the kind's file type in images.
    struct Kind {
        FdTypes type = FD_TYPES__UND;
        std::unique_ptr<files::FileKindRestore> half;
    };

    Inputs in_;
    files::PathRemaps remaps_;
    files::LockRestore locks_;
    std::unique_ptr<sockets::ExternalSocketRestore> externalSockets_;
    tty::OutsideTerminals terminals_;
    InheritedFds inherited_;
    std::vector<Kind> kinds_;
    std::unordered_map<FileId, std::shared_ptr<files::RestoredFile>> files_;
    std::vector<CollectedFile> collected_;
    std::unordered_map<FileId, std::size_t> indices_;
    std::unordered_map<const files::RestoredFile*, std::size_t> objects_;  ///< index in `collected_` of each object
    std::unordered_map<FileId, FileHolder> holders_;
    std::size_t inFlight_ = 0;
    model::FilePlan plan_;
    LateFiles late_;
    PathRights rights_;
    const PidMap* pids_ = nullptr;
    /// Pidfd of the process from which fetch() has most recently fetched a descriptor, during one of setOwners(),
    /// finish() and open().
    std::optional<kernel::PidFd> fetchFrom_;
    const kernel::Usernsd* usernsd_ = nullptr;
};

}  // namespace criu::engine
