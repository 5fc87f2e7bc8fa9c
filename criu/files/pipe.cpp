// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/pipe.hpp"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/pipe_contents.hpp"
#include "criu/files/pipe_ends.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/files/tree_root.hpp"
#include "criu/image/arena.hpp"
#include "criu/model/options.hpp"
#include "images/fdinfo.hpp"
#include "images/pipe.hpp"

namespace criu::files {
namespace {

/// One pipe with all its open file descriptions.
class RestoredPipe final : public RestoredFile {
public:
    RestoredPipe(std::uint32_t pipeId, const PipeContentsRestore& contents) : id_(pipeId), contents_(contents) {}

    void add(const PipeEntry& entry) { entries_.push_back(&entry); }

    [[nodiscard]] std::string describe() const override { return fmt::format("pipe:[{}]", id_); }

    void open(FileOpener& opener) override {
        if (const int given = opener.inherited(describe()); given >= 0) {
            useInherited(opener, given);
            return;
        }
        int made[2];
        // The ends are non-blocking, so that a write of content that doesn't fit fails instead of waiting. Each open
        // file description gets its dumped flags below.
        sys(::pipe2(made, O_CLOEXEC | O_NONBLOCK), "create pipe {}", id_);
        UniqueFd ends[2] = {UniqueFd(made[0]), UniqueFd(made[1])};
        const PipeEntry* const first[2] = {firstOf(O_RDONLY), firstOf(O_WRONLY)};
        for (int end = 0; end < 2; ++end)
            ends[end] = first[end] != nullptr ? opener.settle(FileId{first[end]->id}, std::move(ends[end]))
                                              : opener.toServiceRange(std::move(ends[end]));
        contents_.fill(id_, ends[1].get(), opener.images(), opener.usernsd());

        // criu opens more open file descriptions of an end from the first two ends by /proc; one of them may be for
        // reading and writing. If the tree didn't have one of the first two ends, criu closes it afterwards.
        for (const PipeEntry* entry : entries_) {
            if (entry == first[0] || entry == first[1])
                continue;
            const int access = static_cast<int>(entry->flags) & O_ACCMODE;
            const std::string path = fmt::format("/proc/self/fd/{}", ends[access == O_WRONLY ? 1 : 0].get());
            UniqueFd fd(sys(::open(path.c_str(), access | O_NONBLOCK | O_CLOEXEC), "open pipe {} again", id_));
            setFlags(fd.get(), entry->flags);
            opener.provide(FileId{entry->id}, std::move(fd));
        }
        for (int end = 0; end < 2; ++end) {
            if (first[end] == nullptr)
                continue;
            setFlags(ends[end].get(), first[end]->flags);
            opener.provide(FileId{first[end]->id}, std::move(ends[end]));
        }
    }

    [[nodiscard]] const FownEntry* owner(FileId id) const override {
        for (const PipeEntry* entry : entries_)
            if (entry->id == id.value)
                return entry->fown;
        return nullptr;
    }

private:
    /// Returns the first open file description of an end of the pipe; null if there is none. `access`: O_RDONLY or
    /// O_WRONLY.
    [[nodiscard]] const PipeEntry* firstOf(int access) const {
        for (const PipeEntry* entry : entries_)
            if ((static_cast<int>(entry->flags) & O_ACCMODE) == access)
                return entry;
        return nullptr;
    }

    void setFlags(int fd, std::uint32_t flags) const {
        sys(::fcntl(fd, F_SETFL, static_cast<int>(flags)), "set flags {:#o} of pipe {}", flags, id_);
    }

    /// Opens the inherited pipe again for each open file description, so that each has its own flags. If this fails,
    /// copies the descriptor. It fails if the owner of the pipe has no mapping in the tree's user namespace, or if the
    /// pipe has no reader.
    void useInherited(FileOpener& opener, int given) {
        const std::string path = fmt::format("/proc/self/fd/{}", given);
        for (const PipeEntry* entry : entries_) {
            const int access = static_cast<int>(entry->flags) & O_ACCMODE;
            UniqueFd fd(isPipe(given) ? ::open(path.c_str(), access | O_NONBLOCK | O_CLOEXEC) : -1);
            if (fd)
                setFlags(fd.get(), entry->flags);
            else
                fd.reset(sys(::fcntl(given, F_DUPFD_CLOEXEC, 0), "copy the inherited pipe {}", id_));
            opener.provide(FileId{entry->id}, std::move(fd));
        }
    }

    static bool isPipe(int fd) {
        struct stat status {};
        return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
    }

    std::uint32_t id_;
    const PipeContentsRestore& contents_;
    std::vector<const PipeEntry*> entries_;
};

class PipeKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override {
        return S_ISFIFO(file.stat.st_mode) && file.link.starts_with("pipe:[");
    }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        auto& out = *dump.arena().make<PipeEntry>();
        entry.pipe = &out;
        out.id = entry.id;
        out.pipe_id = static_cast<std::uint32_t>(file.stat.st_ino);
        out.flags = file.info.flags & ~static_cast<std::uint32_t>(O_CLOEXEC);
        out.fown = dump.owner(file);
        ends_.add(out.pipe_id, file);
        if ((out.flags & O_ACCMODE) != O_WRONLY)
            dumped_.add(out.pipe_id, file.copy.get(), dump.images());
        else if (ends_.lacksReader(out.pipe_id))
            dumped_.addUnread(out.pipe_id, file.copy.get(), dump.images());
        entries_.push_back(&out);
    }

    void finish(FileDump& dump) override {
        dumped_.finish(dump.images());
        noteOutside(dump);
    }

private:
    void noteOutside(FileDump& dump) {
        std::set<std::uint32_t> outside;
        for (const auto& [pipe, shown] : ends_.outside()) {
            if (isOfAutofs(pipe, dump.treeRoot().mounts()))
                continue;
            outside.insert(pipe);
            if (!isNamed(pipe, dump.options()))
                dump.log().warn(
                    "{} leads out of the tree: restore with --inherit-fd fd[N]:pipe:[{}], N being a "
                    "descriptor of criu restore",
                    shown, pipe);
        }
        for (PipeEntry* const entry : entries_)
            entry->has_outside = entry->outside = outside.contains(entry->pipe_id) ? 1 : 0;
    }

    /// Returns true if an autofs mount of the kernel has the other end. A restored autofs mount gets a new pipe.
    static bool isOfAutofs(std::uint32_t pipe, const kernel::MountTable& mounts) {
        const std::string mark = fmt::format("pipe_ino={}", pipe);
        return std::any_of(mounts.all().begin(), mounts.all().end(), [&](const kernel::MountInfo& mount) {
            return mount.fsType == "autofs" && mount.superOptions.ends_with(mark);
        });
    }

    static bool isNamed(std::uint32_t pipe, const model::Options& options) {
        return std::any_of(options.externals.begin(), options.externals.end(), [&](const model::External& external) {
            return external.type == model::ExternalType::Pipe && external.id == std::to_string(pipe);
        });
    }

    PipeContentsDump dumped_{ImageKind::PipesData};
    PipeEnds ends_;
    std::vector<PipeEntry*> entries_;
};

class PipeKindRestore final : public FileKindRestore {
public:
    void prepare(FileRestore& restore) override { contents_.load(restore.images()); }

    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.pipe == nullptr)
            fail("file {} is a pipe without data", entry.id);
        auto& pipe = pipes_[entry.pipe->pipe_id];
        if (!pipe)
            pipe = std::make_shared<RestoredPipe>(entry.pipe->pipe_id, contents_);
        pipe->add(*entry.pipe);
        if (entry.pipe->has_outside != 0 && entry.pipe->outside != 0)
            outside_[entry.pipe->pipe_id].emplace_back(entry.id);
        return pipe;
    }

    /// Throws Error if the other end of a standard stream is missing, because most programs end then. Only warns for
    /// other descriptors, because programs often inherit them from their parent without using them.
    void requireGiven(FileRestore& restore) const override {
        const model::Options& options = restore.options();
        if (options.allowLoss)
            return;
        std::vector<std::string> lost;
        std::vector<std::string> wanted;
        for (const auto& [pipe, files] : outside_) {
            std::string name = fmt::format("pipe:[{}]", pipe);
            if (std::any_of(options.inheritFds.begin(), options.inheritFds.end(),
                            [&](const model::InheritFd& given) { return given.name == name; }))
                continue;
            if (std::none_of(files.begin(), files.end(), [&](FileId file) { return restore.isStandardStream(file); })) {
                restore.log().warn(
                    "{} led out of the tree when it was dumped: give its other end by --inherit-fd fd[N]:{}", name,
                    name);
                continue;
            }
            const std::vector<TreePid> users = restore.users(files.front());
            lost.push_back(users.empty() ? name : fmt::format("{} of process {}", name, users.front()));
            wanted.push_back(fmt::format("--inherit-fd fd[N]:{}", name));
        }
        if (lost.empty())
            return;
        Error error(0, fmt::format("{} led out of the tree when it was dumped, and no process has the other end now",
                                   fmt::join(lost, ", ")));
        error.addHint(
            fmt::format("restore with {}, N being a descriptor of criu, or with --allow-loss", fmt::join(wanted, " ")));
        throw error;
    }

private:
    PipeContentsRestore contents_{ImageKind::PipesData};
    std::map<std::uint32_t, std::shared_ptr<RestoredPipe>> pipes_;
    /// File ids of pipes with an external end; the key is the pipe id.
    std::map<std::uint32_t, std::vector<FileId>> outside_;
};

}  // namespace

std::unique_ptr<FileKindDump> makePipeDump() {
    return std::make_unique<PipeKindDump>();
}

std::unique_ptr<FileKindRestore> makePipeRestore() {
    return std::make_unique<PipeKindRestore>();
}

}  // namespace criu::files
