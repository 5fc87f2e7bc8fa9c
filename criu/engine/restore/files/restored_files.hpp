// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/base/unique_fd.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/restored_tree.hpp"
#include "criu/files/tree_root.hpp"

namespace criu::model {
class IdMap;
}

namespace criu::device {
class RestoreDevices;
}

namespace criu::engine {
struct FileHolder;
class RetriedFiles;
class PathRights;
class PidMap;
struct RestoreImages;
struct ServiceFds;
}  // namespace criu::engine

namespace criu::files {
class LockRestore;
class PathRemaps;
}  // namespace criu::files

namespace criu::kernel {
class FdStore;
class Usernsd;
}  // namespace criu::kernel

namespace criu::memory {
class Segments;
}

namespace criu::model {
class BirthPlan;
struct FileFacts;
class FilePlan;
struct FileUser;
}  // namespace criu::model

namespace criu::sockets {
class NetworkLock;
}

namespace criu::tty {
class OutsideTerminals;
}

namespace criu::engine {

/// One object that processes open, with one or several descriptions.
struct CollectedFile {
    std::shared_ptr<files::RestoredFile> file;
    std::vector<FileId> ids;       ///< descriptions of the object that a process has or another file needs
    std::uint32_t network = 0;     ///< network namespace to open the object in; 0: any
    std::uint32_t names = 0;       ///< mount namespace that has the object's names; 0: any
    bool severalNetworks = false;  ///< each description changes the network namespace by itself
    bool severalNames = false;     ///< each description changes the mount namespace by itself
};

/// All files of a restore. Fd kinds collect them from the images, and model::FilePlan assigns them to processes before
/// any process exists. Restored processes and the coordinator use this object to carry out the plan.
class RestoredFiles final : public files::FileRestore, private files::RestoredTree {
public:
    /// Creates the fd kinds, which collect nothing yet. All arguments outlive this object.
    RestoredFiles(const model::Options& options, Log& log, const ImageDir& images, RestoreImages& content,
                  const model::BirthPlan& births, const memory::Segments& segments, sockets::NetworkLock& network,
                  device::RestoreDevices& devices);
    ~RestoredFiles() override;

    /// Collects and plans all files. Throws Error if the images are inconsistent, or if no process can open a file.
    void make();

    /// Chooses the mount namespace for names of Unix sockets. `spaceOf` returns the id of the mount namespace that has
    /// a mount; 0 if none has it. Throws Error for a Unix group with names in several mount namespaces.
    void planNames(const std::function<std::uint32_t(int mount)>& spaceOf);

    /// Chooses the numbers of service descriptors, above or between those of the tree. `more`: number of descriptors
    /// that this object doesn't know. `allow` receives the limit of open files (RLIMIT_NOFILE) that a range above all
    /// would need, and returns the actual limit.
    [[nodiscard]] ServiceFds chooseServiceFds(std::size_t more, const std::function<int(std::size_t)>& allow) const;

    /// Copies the descriptors of --inherit-fd to the service range.
    void takeInherited(kernel::FdStore& store);
    [[nodiscard]] int inherited(std::string_view name) const;
    /// Records that an object that isn't a file, such as a namespace, uses a name of --inherit-fd.
    void noteUsedName(std::string_view name) { usedNames_.emplace(name); }
    /// Warns about names of --inherit-fd that match nothing in the images. Objects that aren't files must have been
    /// recorded by noteUsedName().
    void warnOfUnknownNames() const;
    [[nodiscard]] tty::OutsideTerminals& terminals() noexcept;

    [[nodiscard]] const files::PathRemaps& remaps() const noexcept;
    [[nodiscard]] const model::FilePlan& plan() const noexcept;
    /// Returns the file with this index in the plan.
    [[nodiscard]] const CollectedFile& at(std::size_t file) const { return collected_[file]; }
    [[nodiscard]] std::size_t count() const noexcept { return collected_.size(); }
    /// Returns the index of the object that has this description; nothing for an unknown id.
    [[nodiscard]] std::optional<std::size_t> indexOf(FileId id) const;
    /// Returns the first process that maps the file; otherwise the first one that has a descriptor of it.
    [[nodiscard]] TreePid mapperOf(FileId id) const;
    /// Returns the first descriptor of an id. It is valid once the file is placed; for a late file, once its opener has
    /// opened it.
    [[nodiscard]] std::optional<FileHolder> holderOf(FileId id) const;
    [[nodiscard]] const RetriedFiles& late() const noexcept;
    [[nodiscard]] const files::LockRestore& locks() const noexcept;

    /// Sets the usernsd that helps restored processes in a private user namespace.
    void setUsernsd(const kernel::Usernsd& usernsd) noexcept { usernsd_ = &usernsd; }
    [[nodiscard]] const kernel::Usernsd* usernsd() const noexcept { return usernsd_; }

    /// Begins the work of the fd kinds. The plan is complete, and the root waits at the gate if it has private
    /// namespaces.
    void begin();
    /// Sets owner thread ids, and completes the fd kinds. Called when all processes are parked. `ids`: of the tree's
    /// user namespace.
    void finish(const PidMap& pids, const model::IdMap& ids);
    /// True if the owner is a thread that isn't a leader (F_OWNER_TID). Such an owner is set by finish().
    [[nodiscard]] bool isOwnedByTid(FileId id) const;
    /// See files::PathRemaps::noteLinks(), create(), setMounts() and removeLinks().
    void noteLinks();
    void createDeleted(const model::IdMap& ids, kernel::FdStore& store);
    void setMounts(files::HiddenMounts hidden, files::MountLinker linker);
    void removeLinks() const noexcept;

    [[nodiscard]] const PathRights& rights() const noexcept;

    // files::FileRestore
    [[nodiscard]] const model::Options& options() const override { return options_; }
    [[nodiscard]] Log& log() override { return log_; }
    [[nodiscard]] const ImageDir& images() const override { return images_; }
    [[nodiscard]] const FileEntry& entry(FileId id) const override;
    [[nodiscard]] std::vector<const FileEntry*> entries(FdTypes type) const override;
    [[nodiscard]] std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind kind) const override;
    [[nodiscard]] bool hasProcess(TreePid pid) const override;
    std::shared_ptr<files::RestoredFile> file(FileId id) override;
    [[nodiscard]] std::vector<FileId> besides(FileId id) const override;
    [[nodiscard]] std::vector<TreePid> users(FileId id) const override;
    [[nodiscard]] bool isStandardStream(FileId id) const override;
    [[nodiscard]] const device::RestoreDevices& devices() const noexcept { return devices_; }

private:
    // files::RestoredTree
    [[nodiscard]] bool isHeld(FileId id) const override;
    UniqueFd fetch(FileId id) override;

    // task/f_owner_tid.cpp
    /// Throws Error for a description with an owner thread id that is only in flight. criu could not set its owner.
    void requireReachableOwnerTids() const;
    void setOwnerTids(const model::IdMap& ids);

    [[nodiscard]] std::size_t serviceDescriptors(std::size_t more) const;
    [[nodiscard]] TreePid groupFor(TreePid image) const;
    void collectAll();
    void collect(FileId id);
    [[nodiscard]] std::vector<model::FileFacts> facts() const;
    [[nodiscard]] std::vector<model::FileUser> processes() const;

    const model::Options& options_;
    Log& log_;
    const ImageDir& images_;
    RestoreImages& content_;
    const model::BirthPlan& births_;
    device::RestoreDevices& devices_;
    struct Impl;
    std::unique_ptr<Impl> impl_;
    std::unordered_map<FileId, std::shared_ptr<files::RestoredFile>> files_;
    std::vector<CollectedFile> collected_;
    std::unordered_map<FileId, std::size_t> indices_;
    std::unordered_map<const files::RestoredFile*, std::size_t> objects_;  ///< indices into collected_
    std::size_t inFlight_ = 0;  ///< number of descriptions that no process has as a descriptor
    std::map<std::string, UniqueFd, std::less<>> inherited_;
    std::set<std::string, std::less<>> usedNames_;
    const PidMap* pids_ = nullptr;
    const kernel::Usernsd* usernsd_ = nullptr;
};

}  // namespace criu::engine
