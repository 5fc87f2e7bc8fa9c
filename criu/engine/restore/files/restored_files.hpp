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

/// Something to be opened, as the images have it.
struct CollectedFile {
    std::shared_ptr<files::RestoredFile> file;
    std::vector<FileId> ids;       ///< the descriptions it makes that anybody has or needs
    std::uint32_t network = 0;     ///< network namespace to open it in; 0: it doesn't matter
    std::uint32_t names = 0;       ///< mount namespace that its names are of; 0: it doesn't matter
    bool severalNetworks = false;  ///< it goes to the network namespace of each description by itself
    bool severalNames = false;     ///< likewise
};

/// The files of a restore: collected from the images by their kinds, planned (model::FilePlan) before any process
/// exists, and what processes and their director need to carry the plan out.
class RestoredFiles final : public files::FileRestore, private files::RestoredTree {
public:
    /// Collects nothing yet: kinds may ask for what is made later. All that is given outlives this.
    RestoredFiles(const model::Options& options, Log& log, const ImageDir& images, RestoreImages& content,
                  const model::BirthPlan& births, const memory::Segments& segments, sockets::NetworkLock& network,
                  device::RestoreDevices& devices);
    ~RestoredFiles() override;

    /// Collects and plans. Throws Error where images contradict themselves or a file can't be opened by anybody.
    void make();

    /// Finds out where names of sockets are to be made. `spaceOf`: the number of the mount namespace that has a mount,
    /// 0: none. Throws Error for sockets that can only be opened together but have names in several.
    void planNames(const std::function<std::uint32_t(int mount)>& spaceOf);

    /// Numbers for criu's own descriptors, above or between those of the tree. `more`: of whom nothing is known here.
    /// `allow`: is told how high the limit of open files (RLIMIT_NOFILE) had to be for all of them to be above, and
    /// returns what it is.
    [[nodiscard]] ServiceFds chooseServiceFds(std::size_t more, const std::function<int(std::size_t)>& allow) const;

    /// Takes over descriptors given with --inherit-fd.
    void takeInherited(kernel::FdStore& store);
    [[nodiscard]] int inherited(std::string_view name) const;
    /// What isn't a file, such as a namespace, is given a descriptor of this name.
    void noteUsedName(std::string_view name) { usedNames_.emplace(name); }
    /// Says which names of --inherit-fd are of nothing that the images have. Of what isn't a file, only noted names are
    /// known.
    void warnOfUnknownNames() const;
    [[nodiscard]] tty::OutsideTerminals& terminals() noexcept;

    [[nodiscard]] const files::PathRemaps& remaps() const noexcept;
    [[nodiscard]] const model::FilePlan& plan() const noexcept;
    /// By the plan's index.
    [[nodiscard]] const CollectedFile& at(std::size_t file) const { return collected_[file]; }
    [[nodiscard]] std::size_t count() const noexcept { return collected_.size(); }
    /// The index of what makes a description; nothing for an unknown one.
    [[nodiscard]] std::optional<std::size_t> indexOf(FileId id) const;
    /// The first process that has the file mapped; one that just has it if none does.
    [[nodiscard]] TreePid mapperOf(FileId id) const;
    /// The first descriptor of an id, once it is placed; of a late file: once its opener has opened it.
    [[nodiscard]] std::optional<FileHolder> holderOf(FileId id) const;
    [[nodiscard]] const RetriedFiles& late() const noexcept;
    [[nodiscard]] const files::LockRestore& locks() const noexcept;

    /// For processes in a user namespace of their own: who helps them, as long as they are being restored.
    void setUsernsd(const kernel::Usernsd& usernsd) noexcept { usernsd_ = &usernsd; }
    [[nodiscard]] const kernel::Usernsd* usernsd() const noexcept { return usernsd_; }

    /// When all is planned and the first process waits for its namespaces, if it has own ones: the first work of the
    /// kinds.
    void begin();
    /// When all processes stand still with everything in place: owners that are threads, and the last work of the
    /// kinds. `ids`: of the tree's user namespace.
    void finish(const PidMap& pids, const model::IdMap& ids);
    /// Its owner doesn't exist before finish(): a thread that isn't the first of its process.
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

    // thread_owners.cpp
    /// Throws Error for a description with such an owner that no process has as a descriptor: nobody can reach it then.
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
    std::unordered_map<const files::RestoredFile*, std::size_t> objects_;  ///< indices, too
    std::size_t inFlight_ = 0;  ///< descriptions that nobody has as a descriptor
    std::map<std::string, UniqueFd, std::less<>> inherited_;
    std::set<std::string, std::less<>> usedNames_;
    const PidMap* pids_ = nullptr;
    const kernel::Usernsd* usernsd_ = nullptr;
};

}  // namespace criu::engine
