// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/ipc/posix_queue_file.hpp"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/stat.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/arena.hpp"
#include "criu/kernel/posix_queue.hpp"
#include "criu/namespaces/ipc/posix_queues_dump.hpp"
#include "images/fdinfo.hpp"
#include "images/ipc-mqueue.hpp"

namespace criu::namespaces {
namespace {

class RestoredPosixQueueFile final : public files::RestoredFile {
public:
    explicit RestoredPosixQueueFile(const PosixQueueFileEntry& entry) : entry_(entry) {}

    [[nodiscard]] std::string describe() const override { return fmt::format("POSIX message queue /{}", entry_.name); }

    void open(files::FileOpener& opener) override {
        const int flags = static_cast<int>(entry_.flags);
        // The kernel makes the descriptor of a queue close-on-exec in any case. O_CLOEXEC changes only the flags that
        // F_GETFL shows.
        UniqueFd fd(sys(::mq_open(fmt::format("/{}", entry_.name).c_str(), flags & (O_ACCMODE | O_CLOEXEC)), "open {}",
                        describe()));
        sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of {}", flags, describe());
        if (entry_.pos != 0)
            sys(::lseek(fd.get(), static_cast<off_t>(entry_.pos), SEEK_SET), "set the position of {}", describe());
        opener.provide(FileId{entry_.id}, std::move(fd));
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    const PosixQueueFileEntry& entry_;
};

class PosixQueueFileKindDump final : public files::FileKindDump {
public:
    explicit PosixQueueFileKindDump(PosixQueuesDump* queues) : queues_(queues) {}

    /// Compares size and path first, so that files that aren't queues cost no system call. The size of a queue is
    /// FILENT_SIZE (ipc/mqueue.c of Linux). mq_open(3) uses a mount inside of the kernel, so the path is only the name
    /// of the queue.
    [[nodiscard]] bool claims(const files::OpenFd& file) const override {
        constexpr off_t kSizeOfQueue = 80;
        return S_ISREG(file.stat.st_mode) && file.stat.st_size == kSizeOfQueue && (file.info.flags & O_PATH) == 0 &&
               (file.stat.st_nlink == 0 || file.link.rfind('/') == 0) && kernel::isPosixQueue(file.copy.get());
    }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        if (queues_ == nullptr) {
            Error error(
                0, fmt::format("{} is a POSIX message queue that others outside of the tree may use", file.describe()));
            error.addHint("give the tree an IPC namespace of its own");
            throw error;
        }
        auto& out = *dump.arena().make<PosixQueueFileEntry>();
        entry.posix_queue = &out;
        out.id = entry.id;
        out.flags =
            static_cast<std::uint32_t>(sys(::fcntl(file.copy.get(), F_GETFL), "read flags of {}", file.describe()));
        out.fown = dump.owner(file);
        out.name = dump.arena().string(queues_->nameOf(file));
        out.has_pos = 1;
        out.pos = static_cast<std::uint64_t>(file.info.pos);
    }

private:
    PosixQueuesDump* queues_;
};

class PosixQueueFileKindRestore final : public files::FileKindRestore {
public:
    explicit PosixQueueFileKindRestore(bool ownQueues) : ownQueues_(ownQueues) {}

    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore&) override {
        if (entry.posix_queue == nullptr)
            fail("file {} is a POSIX message queue without data", entry.id);
        if (!ownQueues_)
            fail("file {} is a POSIX message queue of the tree's own IPC namespace, but the tree gets none", entry.id);
        return std::make_shared<RestoredPosixQueueFile>(*entry.posix_queue);
    }

private:
    bool ownQueues_;
};

}  // namespace

std::unique_ptr<files::FileKindDump> makePosixQueueFileDump(PosixQueuesDump* queues) {
    return std::make_unique<PosixQueueFileKindDump>(queues);
}

std::unique_ptr<files::FileKindRestore> makePosixQueueFileRestore(bool ownQueues) {
    return std::make_unique<PosixQueueFileKindRestore>(ownQueues);
}

}  // namespace criu::namespaces
