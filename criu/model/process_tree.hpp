// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "criu/base/ids.hpp"
#include "criu/image/record.hpp"
#include "images/core.fwd.hpp"
#include "images/fdinfo.fwd.hpp"
#include "images/fs.fwd.hpp"
#include "images/mm.fwd.hpp"

namespace criu::model {

class NestedPids;

/// Extension of the inventory (InventoryEntry.extensions): some threads don't share all objects with the leader of
/// their process. These objects are the working directory, root and umask, or the semaphore undo values. CRIU 4.2 would
/// give such threads the leader's values.
inline constexpr const char* kUnsharedThreads = "unshared-threads";

/// Values of task_core_entry.task_state in images.
enum class TaskState : std::uint32_t { Alive = 1, Dead = 2, Stopped = 3 };

struct Thread {
    TreePid tid;
    std::optional<Record<CoreEntry>> core;
};

/// Descriptor of a table, with its open file description.
struct FdSlot {
    int fd = -1;
    bool closeOnExec = false;
    FdTypes type = FD_TYPES__UND;
    FileId file;
};

/// Descriptor table of one process, or of several processes that share it (CLONE_FILES).
struct FdTable {
    std::uint32_t id = 0;
    std::vector<FdSlot> slots;   ///< slots in ascending order of descriptors
    std::vector<TreePid> users;  ///< processes that use the table, parents before their children
};

/// Process of the images. A zombie has no memory, files or ids.
struct Task {
    TreePid pid;
    TreePid ppid;          ///< 0 for the root of the tree
    TreePid parentThread;  ///< thread of the parent whose child this process is; 0 for the leader
    TreePid pgid;
    TreePid sid;
    TaskState state = TaskState::Alive;
    /// True if the main thread has ended while other threads live. Its core image has no registers.
    bool leaderEnded = false;
    std::vector<Thread> threads;  ///< threads of the process; the leader is the first
    /// True in a restore if the process creates its other threads only in its nested user namespace. The kernel lets
    /// only a process with one thread enter a user namespace (userns_install() in kernel/user_namespace.c).
    bool lateThreads = false;

    std::optional<Record<TaskKobjIdsEntry>> ids;
    std::optional<Record<FsEntry>> fs;
    std::optional<Record<MmEntry>> mm;
    std::shared_ptr<FdTable> files;

    Task* parent = nullptr;
    std::vector<Task*> children;

    [[nodiscard]] const CoreEntry& core() const { return **threads.front().core; }
    [[nodiscard]] bool alive() const noexcept { return state != TaskState::Dead; }
};

/// Processes of a checkpoint. Parents come before their children.
struct ProcessTree {
    std::vector<std::unique_ptr<Task>> tasks;
    std::unordered_map<TreePid, Task*> byPid;
    std::unordered_map<std::uint32_t, std::shared_ptr<FdTable>> fdTables;
    std::shared_ptr<const NestedPids> nestedPids;  ///< nullptr if the tree has no nested pid namespaces

    [[nodiscard]] Task& root() const { return *tasks.front(); }
    /// Returns the nested pid namespaces. Defined in nested_pids.cpp.
    [[nodiscard]] const NestedPids& nested() const noexcept;
};

}  // namespace criu::model
