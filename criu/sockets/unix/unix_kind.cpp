// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/socket_kinds.hpp"

#include <sys/socket.h>

#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/sockets/unix/unix_dump.hpp"
#include "criu/sockets/unix/unix_plan.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

class UnixKindDump final : public files::FileKindDump {
public:
    explicit UnixKindDump(ExternalSocketDump& externalSockets) : dump_(externalSockets) {}

    [[nodiscard]] bool claims(const files::OpenFd& file) const override { return file.socketFamily == AF_UNIX; }

    ProtobufCMessage* prepare(const files::OpenFd& file, Arena& arena) override {
        return claims(file) ? &UnixDump::prepare(file, arena).base : nullptr;
    }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        dump_.add(file, entry, dump);
    }
    void finish(files::FileDump& dump) override { dump_.finish(dump); }

private:
    UnixDump dump_;
};

class UnixKindRestore final : public files::FileKindRestore {
public:
    UnixKindRestore(const ExternalSocketRestore& externalSockets, const files::PathRemaps& remaps)
        : plan_(externalSockets, remaps) {}

    void prepare(files::FileRestore& restore) override { plan_.load(restore); }
    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore&) override {
        return plan_.groupOf(FileId{entry.id});
    }

private:
    UnixPlan plan_;
};

}  // namespace

std::unique_ptr<files::FileKindDump> makeUnixDump(ExternalSocketDump& externalSockets) {
    return std::make_unique<UnixKindDump>(externalSockets);
}

std::unique_ptr<files::FileKindRestore> makeUnixRestore(const ExternalSocketRestore& externalSockets,
                                                        const files::PathRemaps& remaps) {
    return std::make_unique<UnixKindRestore>(externalSockets, remaps);
}

}  // namespace criu::sockets
