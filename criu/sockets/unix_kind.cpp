// SPDX-License-Identifier: GPL-2.0-only
#include "criu/sockets/unix_kind.hpp"

#include <sys/socket.h>

#include "criu/sockets/unix_dump.hpp"
#include "criu/sockets/unix_plan.hpp"
#include "images/fdinfo.hpp"

namespace criu::sockets {
namespace {

class UnixKind final : public files::FileKind {
public:
    [[nodiscard]] FdTypes type() const override { return FD_TYPES__UNIXSK; }

    [[nodiscard]] bool claims(const files::OpenFd& file) const override { return file.socketFamily == AF_UNIX; }

    ProtobufCMessage* prepare(const files::OpenFd& file, Arena& arena) override {
        return claims(file) ? &UnixDump::prepare(file, arena).base : nullptr;
    }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        dump_.add(file, entry, dump);
    }
    void finishDump(files::FileDump& dump) override { dump_.finish(dump); }

    void prepareRestore(files::FileRestore& restore) override {
        plan_ = std::make_unique<UnixPlan>();
        plan_->load(restore);
    }
    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore&) override {
        return plan_->groupOf(FileId{entry.id});
    }

private:
    UnixDump dump_;
    std::unique_ptr<UnixPlan> plan_;
};

}  // namespace

std::unique_ptr<files::FileKind> makeUnixKind() {
    return std::make_unique<UnixKind>();
}

}  // namespace criu::sockets
