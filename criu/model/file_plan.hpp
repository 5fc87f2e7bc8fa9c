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

/// What the plan needs to know of one thing that is opened: an open file description, or several that are made
/// together.
struct FileFacts {
    std::vector<FileId> ids;          ///< the descriptions it makes
    std::vector<FileId> needs;        ///< must be open in the same process before; its own don't count
    bool late = false;                ///< can be opened only when all processes exist
    bool early = false;               ///< should be open before its opener creates children
    std::optional<TreePid> session;   ///< of a terminal: the session that it controls
    bool opensOnlyInSession = false;  ///< and that only a process of that session can open it; for late ones
};

/// A living process of the image. Of those that share a descriptor table only the first has it.
struct FileUser {
    TreePid pid;
    TreePid sid;
    bool hasTable = false;
    std::vector<FileId> files;  ///< by ascending descriptors
};

/// When a process opens a file.
enum class FileStage : std::uint8_t {
    BeforeChildren,  ///< before it creates any: they inherit the file
    AfterChildren,   ///< when it fills its own table
    Late,            ///< when all processes exist and have placed all else
};

/// Who does what for one thing.
struct FileOpening {
    TreePid opener;
    FileStage stage = FileStage::AfterChildren;
    TreePid completer;   ///< its first user, or who needs it first; has it when all are placed
    TreePid controller;  ///< of a terminal: who makes it control the session; 0: nobody
};

/// Who opens what. A file that one process uses is opened there. One that several use is opened by their nearest common
/// creator, before it creates them: fork is what passes descriptions on. What can be opened only when all processes
/// exist is opened by one of its users, from which the others fetch it; so is what needs such a file.
class FilePlan {
public:
    /// `processes`: the root first; those of one table in the order of the image. `births` has them all. Throws Error
    /// if files need each other in a circle, if one is needed that isn't among `files`, or if no process can open one.
    static FilePlan make(std::span<const FileFacts> files, std::span<const FileUser> processes,
                         const BirthPlan& births);

    /// By index into what make() was given.
    [[nodiscard]] const FileOpening& of(std::size_t file) const { return openings_[file]; }

    /// What a process (a helper, too) opens at a stage: indices, each behind those that it needs.
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
