// SPDX-License-Identifier: GPL-2.0-only
// Writes images of mount namespaces and of their file systems' content.
#include <dirent.h>
#include <fcntl.h>
#include <sys/statvfs.h>

#include <map>
#include <memory>
#include <set>

#include "criu/base/error.hpp"
#include "criu/base/nanoseconds.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/kernel/proc/scan.hpp"
#include "criu/memory/pages/page_sink.hpp"
#include "criu/namespaces/mount/file_contents.hpp"
#include "criu/namespaces/mount/mount_deleted.hpp"
#include "criu/namespaces/mount/mount_dump.hpp"
#include "criu/namespaces/namespace_dump.hpp"

namespace criu::namespaces {
namespace {

/// Returns how many bytes the files of a file system use.
std::uint64_t usedBytes(int directory) {
    struct statvfs system {};
    sys(::fstatvfs(directory, &system), "look at the file system");
    return (system.f_blocks - system.f_bfree) * system.f_frsize;
}

bool isEmpty(int directory, const Mount& mount) {
    struct CloseDirectory {
        void operator()(DIR* open) const noexcept { ::closedir(open); }
    };
    const std::unique_ptr<DIR, CloseDirectory> open(
        ::fdopendir(sys(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open {}", mount.describe())));
    if (!open)
        failErrno("list {}", mount.describe());
    while (const dirent* const entry = ::readdir(open.get()))
        if (const std::string_view name = entry->d_name; name != "." && name != "..")
            return false;
    return true;
}

/// Translates uid= and gid= options. The kernel shows ids of the initial user namespace, but reads them as ids of the
/// mounter's. Ids without a mapping are left out.
std::string innerOptions(std::string_view options, const model::IdMap& ids) {
    std::string out;
    while (!options.empty()) {
        const std::size_t end = std::min(options.find(','), options.size());
        std::string option(options.substr(0, end));
        options.remove_prefix(std::min(end + 1, options.size()));
        const bool user = option.starts_with("uid=");
        if (user || option.starts_with("gid=")) {
            const auto outer = kernel::parseLoneNumber<std::uint32_t>(option.substr(4), "user or group in an option");
            const std::uint32_t inner = user ? ids.innerUid(outer) : ids.innerGid(outer);
            if (inner == model::IdMap::kNone)
                continue;
            option = fmt::format("{}{}", option.substr(0, 4), inner);
        }
        out += out.empty() ? option : ',' + option;
    }
    return out;
}

}  // namespace

std::vector<SocketFile> MountDump::writeContent(const DumpOutputs& outputs, const Mount& mount, const model::IdMap& ids,
                                                int opened, StopRequest& stop) {
    const UniqueFd directory(
        sys(::openat(opened, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), "open {}", mount.describe()));
    UniqueFd image = outputs.images.createRaw(ImageKind::TmpfsDev, mount.device);
    const ErrorContext context([&] { return mount.describe(); });
    FileContents apart;
    const bool isApart = outputs.pages.takes(memory::MemoryObject::Kind::Files) &&
                         usedBytes(directory.get()) >= FileContents::kWorthwhile;
    auto sockets = FileArchives().pack(directory.get(), image.get(), ids, isApart ? &apart : nullptr, stop);
    closeWritten(std::move(image), imageName(ImageKind::TmpfsDev, mount.device));
    apart.write(directory.get(), outputs.images, mount.device, outputs.pages, stop);
    return sockets;
}

void MountDump::write(const DumpOutputs& outputs, const DumpNsContext& around, StopRequest& stop) {
    const auto mustBeEmpty = [&](const Mount& mount) {
        return !mount.externalName && !mount.ofPlugin && mount.kind.mustBeEmpty;
    };
    std::set<int> wanted;
    std::set<std::uint32_t> devices;
    for (const Mount* const mount : all())
        if ((hasContent(*mount) || (mustBeEmpty(*mount) && mount->isWhole())) && devices.insert(mount->device).second)
            wanted.insert(mount->id);
    wanted.insert(deletedFiles_.begin(), deletedFiles_.end());
    writeAutomounts(outputs.images);
    const std::map<int, UniqueFd> opened = openAll(wanted);
    for (const Space& space : spaces_)
        writeSpace(outputs, space, around, opened, stop);
}

void MountDump::writeAutomounts(const ImageDir& images) const {
    std::map<std::uint32_t, const Mount*> automounts;
    std::set<int> listed;
    for (const Space& space : spaces_)
        for (const Mount& mount : space.mounts.all())
            if (mount.isAutomount() && automounts.emplace(mount.device, &mount).second &&
                automounts_.hasNames(mount.device))
                listed.insert(mount.id);
    const std::map<int, UniqueFd> opened = openAll(listed);
    for (const auto& [device, mount] : automounts) {
        const auto found = opened.find(mount->id);
        automounts_.write(images, *mount, found != opened.end() ? &found->second : nullptr);
    }
}

void MountDump::writeSpace(const DumpOutputs& outputs, const Space& space, const DumpNsContext& around,
                           const std::map<int, UniqueFd>& opened, StopRequest& stop) const {
    const model::IdMap& ids = around.ids;
    Arena arena;
    ImageWriter image = outputs.images.create(ImageKind::Mountpoints, space.number);
    for (const Mount& mount : space.mounts.all()) {
        MntEntry& entry = *entryOf(mount, arena);
        if (ids.isOwnNamespace() && entry.options != nullptr)
            entry.options = arena.string(innerOptions(entry.options, ids));
        if (space.lacksProc && mount.id == space.mounts.root().id)
            entry.has_lacks_proc = entry.lacks_proc = 1;
        const auto network = networks_.find(mount.device);
        if (network != networks_.end() && !mount.externalName && !mount.ofPlugin) {
            entry.has_network_of = 1;
            entry.network_of = around.numberOf(kernel::NamespaceKind::Net, network->second);
        }
        if (deletedFiles_.contains(mount.id)) {
            const ErrorContext context([&] { return mount.describe(); });
            entry.deleted_file = describeDeletedFile(opened.at(mount.id).get(), ids, arena);
        } else if (const auto found = opened.find(mount.id); found != opened.end()) {
            if (!hasContent(mount)) {
                if (!isEmpty(found->second.get(), mount))
                    fail("{} has files in it, which can't be dumped yet", mount.describe());
            } else {
                const std::vector<SocketFile> sockets = writeContent(outputs, mount, ids, found->second.get(), stop);
                entry.n_sockets = sockets.size();
                entry.sockets = arena.messages<MntSocketEntry>(sockets.size());
                for (std::size_t at = 0; at < sockets.size(); ++at) {
                    entry.sockets[at]->path = arena.string(sockets[at].path);
                    entry.sockets[at]->mode = sockets[at].mode;
                    entry.sockets[at]->uid = sockets[at].user;
                    entry.sockets[at]->gid = sockets[at].group;
                    entry.sockets[at]->has_mtime = 1;
                    entry.sockets[at]->mtime = nanosecondsOf(sockets[at].modified);
                }
            }
        }
        image.write(entry);
    }
    image.finish();
}

}  // namespace criu::namespaces
