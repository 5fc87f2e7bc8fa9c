// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/anonymous_kinds.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "criu/base/error.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/arena.hpp"
#include "images/eventfd.hpp"
#include "images/fdinfo.hpp"

namespace criu::files {
namespace {

// Bit in the flags of the image that stands for EFD_SEMAPHORE (1), because the image has no separate field. The bit is
// free: as an access mode, 1 means O_WRONLY, and an eventfd never has this mode.
constexpr std::uint32_t kSemaphore = EFD_SEMAPHORE;

class RestoredEventFd final : public RestoredFile {
public:
    explicit RestoredEventFd(const EventfdFileEntry& entry) : entry_(entry) {}

    [[nodiscard]] std::string describe() const override { return "eventfd"; }

    void open(FileOpener& opener) override {
        // criu writes the 64-bit count to the file, because eventfd(2) accepts only 32 bits.
        UniqueFd fd(sys(::eventfd(0, EFD_CLOEXEC | static_cast<int>(entry_.flags & kSemaphore)), "create eventfd"));
        if (entry_.counter != 0) {
            const std::uint64_t count = entry_.counter;
            if (::write(fd.get(), &count, sizeof(count)) != sizeof(count))
                failErrno("set eventfd to {}", count);
        }
        const int flags = static_cast<int>(entry_.flags & ~kSemaphore);
        sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of eventfd", flags);
        opener.provide(FileId{entry_.id}, std::move(fd));
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    const EventfdFileEntry& entry_;
};

class EventFdKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override { return file.isAnonymous("[eventfd]"); }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        const kernel::EventFdInfo info = kernel::parseEventFd(file.info.text);
        auto& out = *dump.arena().make<EventfdFileEntry>();
        entry.efd = &out;
        out.id = entry.id;
        out.flags = file.info.flags & ~static_cast<std::uint32_t>(O_CLOEXEC);
        if (info.semaphore.value_or(false))
            out.flags |= kSemaphore;
        out.fown = dump.owner(file);
        out.counter = info.count;
    }
};

class EventFdKindRestore final : public FileKindRestore {
public:
    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.efd == nullptr)
            fail("file {} is an eventfd without data", entry.id);
        return std::make_shared<RestoredEventFd>(*entry.efd);
    }
};

}  // namespace

std::unique_ptr<FileKindDump> makeEventFdDump() {
    return std::make_unique<EventFdKindDump>();
}

std::unique_ptr<FileKindRestore> makeEventFdRestore() {
    return std::make_unique<EventFdKindRestore>();
}

}  // namespace criu::files
