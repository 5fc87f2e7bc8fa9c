// SPDX-License-Identifier: GPL-2.0-only
#include "criu/memory/shmem/memfd_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <set>

#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/memory/shmem/segments.hpp"
#include "criu/memory/shmem/segments_dump.hpp"
#include "images/fdinfo.hpp"
#include "images/memfd.hpp"

namespace criu::memory {
namespace {

class RestoredMemfd final : public files::RestoredFile {
public:
    /// `original`: true to use the open file description of memfd_create(2), false to open the memfd again. While a
    /// memfd is open for writing by a second description, execve(2) of the memfd fails (ETXTBSY).
    RestoredMemfd(const MemfdFileEntry& entry, const Segments& segments, bool original)
        : entry_(entry), segments_(segments), original_(original) {}

    [[nodiscard]] std::string describe() const override { return fmt::format("memfd {}", entry_.inode_id); }

    void open(files::FileOpener& opener) override {
        const int made = segments_.memfd(entry_.inode_id);
        const int flags = static_cast<int>(entry_.flags) & ~(O_CREAT | O_EXCL | O_TRUNC);
        UniqueFd fd;
        if (original_) {
            fd.reset(sys(::fcntl(made, F_DUPFD_CLOEXEC, 0), "copy its descriptor"));
            sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o}", flags);
        } else {
            const std::string path = fmt::format("/proc/self/fd/{}", made);
            fd.reset(sys(::open(path.c_str(), flags | O_CLOEXEC), "open with flags {:#o}", flags));
        }
        if (entry_.pos != 0)
            sys(::lseek(fd.get(), static_cast<off_t>(entry_.pos), SEEK_SET), "set the position to {}", entry_.pos);
        opener.provide(FileId{entry_.id}, std::move(fd));
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    const MemfdFileEntry& entry_;
    const Segments& segments_;
    bool original_;
};

class MemfdKindDump final : public files::FileKindDump {
public:
    explicit MemfdKindDump(SegmentsDump& segments) : segments_(segments) {}

    [[nodiscard]] bool claims(const files::OpenFd& file) const override { return segments_.claims(file); }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        auto& out = *dump.arena().make<MemfdFileEntry>();
        entry.memfd = &out;
        out.id = entry.id;
        out.flags = file.info.flags & ~static_cast<std::uint32_t>(O_CLOEXEC);
        out.pos = static_cast<std::uint64_t>(file.info.pos);
        out.fown = dump.owner(file);
        out.inode_id = segments_.inodeFor(file, dump.images());
    }

private:
    SegmentsDump& segments_;
};

class MemfdKindRestore final : public files::FileKindRestore {
public:
    explicit MemfdKindRestore(const Segments& segments) : segments_(segments) {}

    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore&) override {
        if (entry.memfd == nullptr)
            fail("file {} is a memfd without data", entry.id);
        const bool readWrite = (entry.memfd->flags & O_ACCMODE) == O_RDWR && (entry.memfd->flags & O_PATH) == 0;
        const bool original = readWrite && originals_.insert(entry.memfd->inode_id).second;
        return std::make_shared<RestoredMemfd>(*entry.memfd, segments_, original);
    }

private:
    const Segments& segments_;
    /// Inodes for which a file uses the open file description of memfd_create(2).
    std::set<std::uint64_t> originals_;
};

}  // namespace

std::unique_ptr<files::FileKindDump> makeMemfdDump(SegmentsDump& segments) {
    return std::make_unique<MemfdKindDump>(segments);
}

std::unique_ptr<files::FileKindRestore> makeMemfdRestore(const Segments& segments) {
    return std::make_unique<MemfdKindRestore>(segments);
}

}  // namespace criu::memory
