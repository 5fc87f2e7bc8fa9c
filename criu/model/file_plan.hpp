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

/// Input of the file plan for one open: an open file description, or several that are made together.
struct FileFacts {
    std::vector<FileId> ids;          ///< descriptions that the open makes
    std::vector<FileId> needs;        ///< must be open in the same process before; its own ids don't count
    bool late = false;                ///< opens only when all processes exist
    bool early = false;               ///< opens before its opener creates children, if possible
    std::optional<TreePid> session;   ///< for a terminal: session that it controls
    bool opensOnlyInSession = false;  ///< for late files: only a process of `session` can open it
};

/// A living process of the images. Only the first process of a shared descriptor table has the table.
struct FileUser {
    TreePid pid;
    TreePid sid;
    bool hasTable = false;
    std::vector<FileId> files;  ///< in the order of descriptors
};

/// Time at which a process opens a file.
enum class FileStage : std::uint8_t {
    BeforeChildren,  ///< before it creates children, which inherit the file
    AfterChildren,   ///< when it fills its own table
    Late,            ///< when all processes exist and have placed all other files
};

/// Roles of processes for one open.
struct FileOpening {
    TreePid opener;
    FileStage stage = FileStage::AfterChildren;
    TreePid completer;   ///< first user, or first process that needs it; has it when all files are placed
    TreePid controller;  ///< for a terminal: process that makes it control the session; 0: none
};

/// File plan: says which process opens which file. A single user opens its file itself. Several users get it by fork
/// from their nearest common creator, which opens it before it creates them. One of its users opens a late file, and
/// all others fetch it; the same holds for files that need a late file.
class FilePlan {
public:
    /// Makes the plan. `processes` has the root first, and users of one table in the order of the images. `births`
    /// has all of them. Throws Error if files need each other in a circle, if a needed file isn't among `files`, or
    /// if no process can open a file.
    static FilePlan make(std::span<const FileFacts> files, std::span<const FileUser> processes,
                         const BirthPlan& births);

    /// Returns the roles for a file, by its index in the input of make().
    [[nodiscard]] const FileOpening& of(std::size_t file) const { return openings_[file]; }

    /// Returns the indices of files that a process or helper opens at a stage; each one follows the files that it
    /// needs.
    [[nodiscard]] std::span<const std::size_t> openedBy(TreePid pid, FileStage stage) const;
    [[nodiscard]] std::span<const std::size_t> completedBy(TreePid pid) const;
    [[nodiscard]] std::span<const std::size_t> controlledBy(TreePid pid) const;

private:
    struct Work {
        std::array<std::vector<std::size_t>, 3> opens;  ///< by stage
        std::vector<std::size_t> completes;
        std::vector<std::size_t> controls;
    };
    [[nodiscard]] const Work* workOf(TreePid pid) const;

    std::vector<FileOpening> openings_;
    std::unordered_map<TreePid, Work> work_;
};

}  // namespace criu::model
