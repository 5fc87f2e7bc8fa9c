// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "criu/engine/fwd.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/memory/mappings/mapped_files.hpp"
#include "images/fown.fwd.hpp"

namespace criu::files {
class OpenedPaths;
}

namespace criu::engine {

/// Opens and places the descriptors of one process during its restore.
class TaskFiles final : public files::FileOpener, public files::PlacedFiles, public memory::MappedFiles {
public:
    /// `task`: null for helpers. `space`: nested pid namespace of the process; null if it is in the root's.
    TaskFiles(const RestoreRun& run, const model::Task* task, TreePid pid, const model::NestedPidNs* space);
    ~TaskFiles() override;

    /// Becomes the owner of the descriptors that this process inherited from its creator by fork.
    void inheritFrom(const TaskFiles& creator);

    /// Opens the files that children inherit. Call it before the process creates children.
    void openShared();
    /// Makes terminals the controlling terminal of the session that the process leads. Call it after setsid(2).
    void beginSession();
    /// Sets the foreground process groups of the session's terminals. Call it when all processes are in their groups.
    void groupsJoined();
    /// Opens all other files, and moves all descriptors to their numbers. Call it when the process has created all its
    /// children.
    void place();
    /// Opens those late files that the plan assigns to this process. Call it when all processes exist.
    void openLate();
    /// Fetches late files that other processes have opened by openLate().
    void fetchLate();
    /// Completes files and sets file locks. Call it when all processes have their descriptors at their numbers.
    void complete();
    /// Adds steps for files that need memory of the process, which the steps register with the kernel. The steps run
    /// when the memory is complete.
    void addMemorySteps(pie::StepList& steps, pie::RemoteData& data) const;

    // Implementation of files::FileOpener and files::PlacedFiles
    [[nodiscard]] const model::Options& options() const override;
    [[nodiscard]] Log& log() override { return log_; }
    [[nodiscard]] const ImageDir& images() const override;
    [[nodiscard]] const kernel::Usernsd* usernsd() const override;
    [[nodiscard]] const kernel::Usernsd* usernsdForPaths() const override;
    void provide(FileId id, UniqueFd fd) override;
    UniqueFd toServiceRange(UniqueFd fd) override;
    UniqueFd settle(FileId id, UniqueFd fd) override;
    [[nodiscard]] int find(FileId id) const override;
    [[nodiscard]] bool isHeld(FileId id) const override;
    [[nodiscard]] int inherited(std::string_view name) const override;
    [[nodiscard]] pid_t numberOf(TreePid process) const override;
    using files::FileOpener::openPath;
    UniqueFd openPath(FileId regular, int flags, files::PathCheck check) override;
    void postpone() override { postponed_ = true; }
    void inNetwork(std::uint32_t number, const std::function<void()>& work) override;
    void onMount(int mount, const std::function<void()>& work) override;
    UniqueFd fetch(FileId id) override;
    [[nodiscard]] std::vector<kernel::FileRights> usersOf(FileId id) const override;

    // Implementation of memory::MappedFiles
    UniqueFd openForMapping(const VmaEntry& vma, int flags) override;
    int segment(const VmaEntry& vma) override;
    memory::MappedDeviceFile device(const VmaEntry& vma) override;
    UniqueFd placedSocket(const VmaEntry& vma) override;
    std::optional<int> placedRing(const VmaEntry& vma) override;

private:
    [[nodiscard]] bool leadsTable() const;
    void openAll(model::FileStage stage);
    void open(std::size_t file);
    bool openPostponed();
    void putAll(FileId id, UniqueFd fd);
    void put(int fd, const model::FdSlot& slot) const;
    void completeFiles();
    void setLocks();
    [[nodiscard]] std::optional<FownEntry> ownerOf(FileId id) const;
    [[nodiscard]] std::string describe(FileId id) const;
    [[nodiscard]] int descriptorOf(FileId id) const;

    const RestoredFiles& all_;
    const ServiceFds& service_;
    const memory::Segments& segments_;
    const namespaces::RestoreNsContext& nsContext_;
    const model::Task* task_;
    TreePid pid_;
    const model::NestedPidNs* space_;
    Log& log_;
    /// Phase of the work. In Sharing, provide() keeps a descriptor in the service range for children; later it moves
    /// the descriptor to its numbers.
    enum class Phase { Sharing, Placing, Late };
    Phase phase_ = Phase::Sharing;
    std::map<FileId, int> shared_;  ///< descriptors in the service range
    std::map<FileId, int> placed_;  ///< one of the final descriptor numbers of each open file description
    std::multimap<FileId, const model::FdSlot*> slots_;
    std::vector<std::size_t> pending_;  ///< indices of postponed files in the plan
    bool postponed_ = false;
    const CollectedFile* opening_ = nullptr;     ///< file that open() opens; null outside of open()
    std::unique_ptr<files::OpenedPaths> paths_;  ///< paths of a series of open() calls
};

}  // namespace criu::engine
