// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/pipe.hpp"
#include "criu/files/pipe_contents.hpp"
#include "criu/files/pipe_ends.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/arena.hpp"
#include "criu/model/options.hpp"
#include "images/fdinfo.hpp"
#include "images/fifo.hpp"
#include "images/regfile.hpp"

namespace criu::files {
namespace {

/// One fifo with all its open file descriptions.
class RestoredFifo final : public RestoredFile {
public:
    RestoredFifo(std::uint32_t pipeId, const PipeContentsRestore& contents) : id_(pipeId), contents_(contents) {}

    void add(const FifoEntry& entry, const RegFileEntry& path) { entries_.push_back({&entry, &path}); }

    [[nodiscard]] std::string describe() const override {
        return fmt::format("fifo {}", entries_.empty() ? "?" : entries_.front().path->name);
    }

    void open(FileOpener& opener) override {
        const std::string_view name = entries_.front().path->name;
        if (const int given = opener.inherited(name.substr(name.starts_with('/') ? 1 : 0)); given >= 0) {
            for (const Item& item : entries_)
                opener.provide(FileId{item.entry->id},
                               UniqueFd(sys(::fcntl(given, F_DUPFD_CLOEXEC, 0), "copy the inherited {}", describe())));
            return;
        }
        requireReader(opener);
        // Opens the fifo for reading and writing first. With this descriptor, opening one end doesn't wait for the
        // other, and the kernel keeps the content until all ends are open.
        const UniqueFd both =
            opener.toServiceRange(opener.openPath(FileId{entries_.front().entry->regf_id}, O_RDWR | O_NONBLOCK));
        struct stat there {};
        sys(::fstat(both.get(), &there), "stat {}", describe());
        if (!S_ISFIFO(there.st_mode))
            fail("{} isn't a fifo", entries_.front().path->name);
        contents_.fill(id_, both.get(), opener.images(), opener.usernsd());
        // The write has changed the times. Only in a user namespace that doesn't own the fifo can this call fail.
        const timespec times[2] = {there.st_atim, there.st_mtim};
        (void)::futimens(both.get(), times);
        for (const Item& item : entries_) {
            const int flags = static_cast<int>(item.path->flags);
            UniqueFd fd = opener.openPath(FileId{item.entry->regf_id}, flags | O_NONBLOCK);
            if ((flags & O_PATH) == 0)
                sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of {}", flags, describe());
            opener.provide(FileId{item.entry->id}, std::move(fd));
        }
    }

    [[nodiscard]] const FownEntry* owner(FileId id) const override {
        for (const Item& item : entries_)
            if (item.entry->id == id.value)
                return item.path->fown;
        return nullptr;
    }

private:
    /// Throws Error if an external process had the fifo open for reading at the dump, and no process has now.
    void requireReader(FileOpener& opener) const {
        const Item& first = entries_.front();
        if (first.entry->has_outside == 0 || first.entry->outside == 0 || opener.options().allowLoss)
            return;
        try {
            (void)opener.openPath(FileId{first.entry->regf_id}, O_WRONLY | O_NONBLOCK);
        } catch (const Error& error) {
            if (error.code() != ENXIO)
                throw;
            Error refused(0,
                          fmt::format("{} was read by an external process, and no process reads it now", describe()));
            refused.addHint("open it for reading first, or restore with --allow-loss");
            throw refused;
        }
    }

    struct Item {
        const FifoEntry* entry;
        const RegFileEntry* path;
    };
    std::uint32_t id_;
    const PipeContentsRestore& contents_;
    std::vector<Item> entries_;
};

class FifoKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override {
        return S_ISFIFO(file.stat.st_mode) && file.link.starts_with('/') && (file.info.flags & O_PATH) == 0;
    }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        auto& out = *dump.arena().make<FifoEntry>();
        entry.fifo = &out;
        out.id = entry.id;
        out.pipe_id = numberOf(file.stat);
        out.has_regf_id = 1;
        out.regf_id =
            dump.addPath(file, file.info.flags & ~static_cast<std::uint32_t>(O_CLOEXEC), dump.owner(file)).value;
        ends_.add(out.pipe_id, file);
        if ((file.info.flags & O_ACCMODE) != O_WRONLY)
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
        for (const auto& [fifo, shown] : ends_.outside()) {
            if (!ends_.isWritten(fifo))
                // Skips a fifo that the tree only reads: the kernel doesn't show whether a fifo without writers ever
                // had one.
                continue;
            dump.log().warn("{} is read by an external process, which must open it again before a restore", shown);
            for (FifoEntry* const entry : entries_)
                if (entry->pipe_id == fifo)
                    entry->has_outside = entry->outside = 1;
        }
    }

    /// Returns the inode number of the fifo. If a fifo of another file system already has this number, returns the next
    /// free number.
    std::uint32_t numberOf(const struct stat& stat) {
        const auto [at, fresh] = numbers_.try_emplace({stat.st_dev, stat.st_ino});
        if (fresh) {
            at->second = static_cast<std::uint32_t>(stat.st_ino);
            while (!taken_.insert(at->second).second)
                ++at->second;
        }
        return at->second;
    }

    std::map<std::pair<dev_t, ino_t>, std::uint32_t> numbers_;
    std::set<std::uint32_t> taken_;  ///< numbers that numbers_ contains as values
    PipeContentsDump dumped_{ImageKind::FifoData};
    PipeEnds ends_;
    std::vector<FifoEntry*> entries_;
};

class FifoKindRestore final : public FileKindRestore {
public:
    void prepare(FileRestore& restore) override { contents_.load(restore.images()); }

    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore& restore) override {
        if (entry.fifo == nullptr || entry.fifo->has_regf_id == 0)
            fail("file {} is a fifo without a path", entry.id);
        const FileEntry& path = restore.entry(FileId{entry.fifo->regf_id});
        if (path.reg == nullptr)
            fail("the path of fifo {} (file {}) is not a regular-file entry", entry.id, entry.fifo->regf_id);
        auto& fifo = fifos_[entry.fifo->pipe_id];
        if (!fifo)
            fifo = std::make_shared<RestoredFifo>(entry.fifo->pipe_id, contents_);
        fifo->add(*entry.fifo, *path.reg);
        return fifo;
    }

private:
    PipeContentsRestore contents_{ImageKind::FifoData};
    std::map<std::uint32_t, std::shared_ptr<RestoredFifo>> fifos_;
};

}  // namespace

std::unique_ptr<FileKindDump> makeFifoDump() {
    return std::make_unique<FifoKindDump>();
}

std::unique_ptr<FileKindRestore> makeFifoRestore() {
    return std::make_unique<FifoKindRestore>();
}

}  // namespace criu::files
