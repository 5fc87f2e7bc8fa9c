// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "criu/files/file_dump.hpp"
#include "criu/image/arena.hpp"

namespace criu::device {
class DumpDevices;
}

namespace criu::engine {
class DumpNamespaces;
struct FrozenTask;
class FrozenTree;
}  // namespace criu::engine

namespace criu::files {
enum class FinalTaskState : std::uint8_t;
}

namespace criu::memory {
class SegmentsDump;
}

namespace criu::engine {

struct GuardedFiles;

/// Dumps the files of all processes. Each open file description gets one id and one entry, even if several descriptors
/// refer to it.
class FileCollector final : public files::FileDump {
public:
    struct Inputs {
        const model::Options& options;
        Log& log;
        StopRequest& stop;
        const ImageDir& images;
        memory::SegmentsDump& segments;
        device::DumpDevices& devices;
        FrozenTree& tree;
        bool mayInject;  ///< false if injected code could harm a process
        const DumpNamespaces& namespaces;
        const GuardedFiles& guardedFiles;
        Refusals& refusals;
    };
    /// All inputs outlive this object.
    explicit FileCollector(const Inputs& inputs);
    ~FileCollector() override;

    /// Returns the id of the process' descriptor table. Dumps the table at the first call for one of the processes that
    /// share it.
    std::uint32_t addTable(FrozenTask& task);

    /// Dumps the file to which a link below /proc/PID leads, such as "exe", "cwd" or "root".
    /// Returns the id of the file's path entry.
    FileId addLink(const FrozenTask& task, const std::string& link, std::uint32_t flags, bool wantBuildId);

    /// Dumps the file of a link that the caller has opened (O_PATH), because the kernel doesn't let criu open the link.
    FileId addLink(const FrozenTask& task, const std::string& link, UniqueFd target, std::uint32_t flags,
                   bool wantBuildId);

    /// Returns the id of a dumped file of this type and inode (packet socket or ring); 0 if no descriptor of the file
    /// was dumped.
    [[nodiscard]] FileId open(FdTypes type, dev_t device, ino_t inode) const;

    /// Returns true if the process has a descriptor of this type. Call it after addTable().
    [[nodiscard]] bool has(FdTypes type, HostPid pid) const;

    /// Writes files.img and the images of single fd kinds.
    void finish();

    /// Calls files::FileKindDump::prepareKill() of all fd kinds. Throws Error.
    void prepareKill();
    /// Ends the dump of files. Removes link remaps if the processes continue; else keeps them for the images. The
    /// destructor calls this for processes that continue, if the caller hasn't.
    void release(files::FinalTaskState aftermath) noexcept;

    // Implementation of files::FileDump
    [[nodiscard]] const model::Options& options() const override { return options_; }
    [[nodiscard]] Log& log() override { return log_; }
    [[nodiscard]] const ImageDir& images() const override { return images_; }
    [[nodiscard]] StopRequest& stop() override { return stop_; }
    [[nodiscard]] Refusals& refusals() override { return refusals_; }
    [[nodiscard]] Arena& arena() override { return arena_; }
    FileId nextId() override { return FileId{++lastId_}; }
    void add(FileEntry& entry) override;
    void addLater(const FileEntry& entry) override { addedLater_.insert(&entry); }
    FileId addPath(const files::OpenFd& file, std::uint32_t flags, FownEntry* owner) override;
    FileId addInFlight(UniqueFd fd) override;
    [[nodiscard]] std::vector<files::SeenFd> seen(dev_t device, ino_t inode) const override;
    [[nodiscard]] const model::IdMap& ids() const override;
    [[nodiscard]] const model::TreePids& pids() const override { return pids_; }
    [[nodiscard]] std::uint32_t networkNumber() const override;
    [[nodiscard]] std::optional<std::uint32_t> namespaceNumber(kernel::NamespaceKind kind,
                                                               std::uint32_t inode) const override;
    [[nodiscard]] const files::TreeRoot& treeRoot() const override;
    [[nodiscard]] bool isDumped(HostPid pid) const override { return processes_.contains(pid); }
    [[nodiscard]] compel::FrozenProcess* callable(HostPid pid) override;
    [[nodiscard]] std::span<const files::SeenFd> descriptorsOf(HostPid pid) const override;
    [[nodiscard]] std::vector<HostPid> users(FileId id) const override;

private:
    /// Dumped open file description, with one descriptor that refers to it.
    struct Known {
        HostPid actor;
        int fd = -1;
        FileId id;
        FdTypes type = FD_TYPES__UND;
    };
    /// Device, inode, flags and link, which are equal for all descriptors of an open file description. The link is
    /// empty except for anon_inode files.
    using Key = std::tuple<dev_t, ino_t, std::uint32_t, std::string>;
    /// Key of a path entry. The last element is a mount id, or -1.
    using PathKey = std::tuple<dev_t, ino_t, std::string, std::uint32_t, int>;

    struct Impl;
    void noteServer(files::OpenFd& file) const;
    struct Table {
        HostPid pid;
        std::uint32_t id = 0;
        std::vector<files::SeenFd> descriptors;
        std::vector<const Known*> known;  ///< open file description of each element of `descriptors`
    };

    /// Returns the descriptor table of a process; null if it isn't dumped yet.
    [[nodiscard]] const Table* tableOf(HostPid process) const;
    /// Returns the open file description of this descriptor number in the parent's table. Returns null if the process
    /// has another description at this number. The caller needn't read a descriptor that the process inherited by fork.
    static const Known* inherited(const Table* parent, HostPid actor, int fd);
    static Key keyOf(const files::OpenFd& file);
    const Known& identify(const files::OpenFd& file);
    const Known* dumpDescriptor(const files::OpenFd& file);
    void refuseLocks(const files::OpenFd& file) const;
    FileId addPathEntry(const files::OpenFd& file, std::uint32_t flags, bool wantBuildId, FownEntry* owner);

    const model::Options& options_;
    Log& log_;
    StopRequest& stop_;
    const ImageDir& images_;
    const DumpNamespaces& namespaces_;
    const GuardedFiles& guardedFiles_;
    Refusals& refusals_;
    const model::TreePids& pids_;
    std::unique_ptr<Impl> impl_;
    Arena arena_;
    std::uint32_t lastId_ = 0;
    std::uint32_t lastTable_ = 1;  ///< id of the last dumped table; 1 is criu's table
    bool released_ = false;
    std::vector<FileEntry*> entries_;
    std::deque<Known> described_;
    /// Stands for open file descriptions that a dry run has refused.
    const Known refused_{};
    /// Open file descriptions by key. Each list has the order of kcmp(2), which is arbitrary but constant.
    std::map<Key, std::vector<const Known*>> known_;
    std::map<PathKey, FileId> knownPaths_;
    std::set<const FileEntry*> addedLater_;
    std::deque<Table> tables_;
    std::unordered_map<HostPid, HostPid> actors_;  ///< actors of the processes whose main thread has ended
    /// Descriptor tables. The key is Sharing::firstOf() of the processes that share the table.
    std::unordered_map<HostPid, const Table*> tableOf_;
    std::set<HostPid> processes_;
    std::vector<Arena> preparedIn_;
    int inFlightDepth_ = 0;  ///< number of nested calls of addInFlight()
};

}  // namespace criu::engine
