// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/model/birth_plan.hpp"

namespace criu::model {

/// Input of the file plan for one call of open(): one open file description, or several that the call creates together.
struct FileFacts {
    std::vector<FileId> ids;  ///< open file descriptions that the call creates
    /// Files that the same process must open before this file; may contain the file's own ids, which are ignored.
    std::vector<FileId> needs;
    bool late = false;                ///< true if the file can be opened only when all processes exist
    bool early = false;               ///< true if the opener should open the file before it creates children
    std::optional<TreePid> session;   ///< session that a terminal controls; unset for other files
    bool opensOnlyInSession = false;  ///< for late files: only a process of `session` can open the file
};

/// Living process of the images. If several processes share a descriptor table, only the first one of them has the
/// table.
struct FileUser {
    TreePid pid;
    TreePid sid;
    bool hasTable = false;
    std::vector<FileId> files;  ///< files of the table, in ascending order of descriptors
};

/// Time at which a process opens a file.
enum class FileStage : std::uint8_t {
    BeforeChildren,  ///< before the process creates children, which inherit the file
    AfterChildren,   ///< when the process fills its own descriptor table
    Late,            ///< when all processes exist and have placed all other files
};

/// Roles of processes for one file.
struct FileOpening {
    TreePid opener;
    FileStage stage = FileStage::AfterChildren;
    TreePid completer;   ///< process that completes the file: its first user, or the first process that needs it
    TreePid controller;  ///< process that makes the terminal the controlling terminal of the session; 0 for other files
};

/// File plan: determines which process opens which file. A file with a single user is opened by this user. A file with
/// several users is opened by their nearest common creator before it creates them, so that they inherit the file. One
/// user opens a late file, and all other users fetch the file from this process. Files that need a late file are opened
/// in the same way.
class FilePlan {
public:
    /// Makes the plan. In `processes`, the root is first, and the users of one table have the order of the images.
    /// `births` contains all processes. Throws Error if files need each other in a circle, if a needed file isn't in
    /// `files`, or if no process can open a file.
    static FilePlan make(std::span<const FileFacts> files, std::span<const FileUser> processes,
                         const BirthPlan& births);

    /// Returns the roles for a file. `file` is its index in the input of make().
    [[nodiscard]] const FileOpening& of(std::size_t file) const { return openings_[file]; }

    /// Returns the indices of the files that a process or helper opens at `stage`. Each file comes after the files that
    /// it needs.
    [[nodiscard]] std::span<const std::size_t> openedBy(TreePid pid, FileStage stage) const;
    [[nodiscard]] std::span<const std::size_t> completedBy(TreePid pid) const;
    [[nodiscard]] std::span<const std::size_t> controlledBy(TreePid pid) const;

private:
    struct Work {
        std::array<std::vector<std::size_t>, 3> opens;  ///< indices of files to open, by stage
        std::vector<std::size_t> completes;
        std::vector<std::size_t> controls;
    };
    [[nodiscard]] const Work* workOf(TreePid pid) const;

    std::vector<FileOpening> openings_;
    std::unordered_map<TreePid, Work> work_;
};

}  // namespace criu::model
