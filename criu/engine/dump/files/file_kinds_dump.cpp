// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/dump/files/file_kinds_dump.hpp"

#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/refusals.hpp"
#include "criu/device/device_sockets.hpp"
#include "criu/engine/dump/files/owner_program.hpp"
#include "criu/engine/dump/files/ring_owners.hpp"
#include "criu/engine/dump/files/seen_sessions.hpp"
#include "criu/engine/file_kinds.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/refused.hpp"
#include "criu/files/regular.hpp"
#include "criu/files/ring_answers.hpp"
#include "criu/namespaces/namespace_dump.hpp"
#include "criu/namespaces/net/networks_dump.hpp"
#include "criu/namespaces/net/tun_file.hpp"
#include "criu/sockets/external_sockets.hpp"

namespace criu::engine {

/// Private members of FileKindsDump; separate, so that the header doesn't include their types.
struct FileKindsDump::Impl {
    Impl(device::DumpDevices& devices, FrozenTree& tree, bool mayInject, std::uint64_t ghostLimit, Log& log)
        : externalSockets(makeExternalSocketDump(devices)),
          paths(ghostLimit),
          sessions(sessionsOf(tree, log)),
          rings(makeRingOwners(tree)),
          program(makeOwnerProgram(tree, mayInject, log.journal())) {}

    std::unique_ptr<sockets::ExternalSocketDump> externalSockets;
    files::PathDump paths;
    std::vector<tty::SeenSession> sessions;
    std::unique_ptr<files::RingOwners> rings;
    sockets::OwnerProgram program;
    std::vector<Kind> kinds;
};

FileKindsDump::FileKindsDump(memory::SegmentsDump& segments, device::DumpDevices& devices, FrozenTree& tree,
                             bool mayInject, const namespaces::DumpNsContext& around, std::uint64_t ghostLimit,
                             Log& log)
    : networks_(*around.networks), impl_(std::make_unique<Impl>(devices, tree, mayInject, ghostLimit, log)) {
    const FileDumpResources with{impl_->paths,           segments,      networks_.rootLock(), *impl_->externalSockets,
                                 networks_.tunDevices(), devices,       impl_->sessions,      around.posixQueues,
                                 *impl_->rings,          impl_->program};
    for (const FileKind& kind : fileKinds())
        impl_->kinds.push_back({kind.type, kind.startDump(with)});
}

FileKindsDump::~FileKindsDump() = default;

const FileKindsDump::Kind& FileKindsDump::of(const files::OpenFd& file) const {
    for (const Kind& kind : impl_->kinds)
        if (kind.half->claims(file))
            return kind;
    files::refuseFile(file);
}

/// Returns the id of the network namespace of a file. Returns the root process' namespace for files that have no
/// network namespace.
std::uint32_t FileKindsDump::networkOf(const files::OpenFd& file) const {
    if (file.socketFamily >= 0 || namespaces::isTunDescriptor(file))
        return networks_.ofSocket(file);
    return file.link.starts_with("net:[") ? networks_.ofNamespaceFile(file) : networks_.home();
}

void FileKindsDump::prepare(files::OpenFd& file, Arena& arena) const {
    const ErrorContext context([&] { return file.describe(); });
    file.network = networkOf(file);
    const auto ask = [&] {
        for (const Kind& kind : impl_->kinds)
            if (file.prepared = kind.half->prepare(file, arena); file.prepared != nullptr)
                return;
    };
    if (file.network == networks_.home())
        ask();
    else
        networks_.inside(file.network, ask);
}

void FileKindsDump::dump(const files::OpenFd& file, const Kind& kind, FileEntry& entry, files::FileDump& dump) const {
    if (file.network == networks_.home())
        kind.half->dump(file, entry, dump);
    else
        networks_.inside(file.network, [&] { kind.half->dump(file, entry, dump); });
}

void FileKindsDump::fillPath(const files::OpenFd& file, std::uint32_t flags, bool wantBuildId, RegFileEntry& out,
                             files::FileDump& dump) {
    impl_->paths.fill(file, flags, wantBuildId, out, dump);
}

std::uint32_t FileKindsDump::networkNumber() const {
    return networks_.home();
}

void FileKindsDump::finish(files::FileDump& dump, const ImageDir& images) {
    for (const Kind& kind : impl_->kinds)
        dump.refusals().attempt([&] { kind.half->finish(dump); });
    dump.refusals().attempt([&] { impl_->paths.finish(images); });
}

void FileKindsDump::prepareKill() {
    for (const Kind& kind : impl_->kinds)
        kind.half->prepareKill();
}

void FileKindsDump::end(files::FinalTaskState aftermath, Log& log) noexcept {
    for (const Kind& kind : impl_->kinds)
        kind.half->end(aftermath, log);
    if (aftermath == files::FinalTaskState::Run)
        impl_->paths.removeLinks(log);
    else
        impl_->paths.leaveLinks();
}

}  // namespace criu::engine
