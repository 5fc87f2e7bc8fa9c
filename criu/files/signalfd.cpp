// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/anonymous_kinds.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>

#include <cstring>

#include "criu/base/error.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/arena.hpp"
#include "images/fdinfo.hpp"
#include "images/signalfd.hpp"

namespace criu::files {
namespace {

class RestoredSignalFd final : public RestoredFile {
public:
    explicit RestoredSignalFd(const SignalfdEntry& entry) : entry_(entry) {}

    [[nodiscard]] std::string describe() const override { return "signalfd"; }

    void open(FileOpener& opener) override {
        // Copies the kernel's 64 bits to the start of libc's signal set: sigaddset(3) refuses the signals 32 and 33,
        // because libc uses these itself.
        sigset_t mask;
        ::sigemptyset(&mask);
        static_assert(sizeof(mask) >= sizeof(entry_.sigmask));
        std::memcpy(&mask, &entry_.sigmask, sizeof(entry_.sigmask));
        UniqueFd fd(sys(::signalfd(-1, &mask, SFD_CLOEXEC), "create signalfd for {:#x}", entry_.sigmask));
        const int flags = static_cast<int>(entry_.flags);
        sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of signalfd", flags);
        opener.provide(FileId{entry_.id}, std::move(fd));
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }

private:
    const SignalfdEntry& entry_;
};

class SignalFdKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override { return file.isAnonymous("[signalfd]"); }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        auto& out = *dump.arena().make<SignalfdEntry>();
        entry.sgfd = &out;
        out.id = entry.id;
        out.flags = file.statusFlags();
        out.fown = dump.owner(file);
        out.sigmask = kernel::parseSignalFd(file.info.text);
    }
};

class SignalFdKindRestore final : public FileKindRestore {
public:
    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.sgfd == nullptr)
            fail("file {} is a signalfd without data", entry.id);
        return std::make_shared<RestoredSignalFd>(*entry.sgfd);
    }
};

}  // namespace

std::unique_ptr<FileKindDump> makeSignalFdDump() {
    return std::make_unique<SignalFdKindDump>();
}

std::unique_ptr<FileKindRestore> makeSignalFdRestore() {
    return std::make_unique<SignalFdKindRestore>();
}

}  // namespace criu::files
