// SPDX-License-Identifier: GPL-2.0-only
#include "criu/namespaces/net/tun_file.hpp"

#include <linux/if_tun.h>
#include <poll.h>
#include <sys/sysmacros.h>

#include <map>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/log.hpp"
#include "criu/base/loss.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/regular.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/record.hpp"
#include "criu/kernel/proc/proc_ns.hpp"
#include "criu/namespaces/net/tun_devices.hpp"
#include "images/fdinfo.hpp"

namespace criu::namespaces {
namespace {

constexpr unsigned kMajor = 10;  // device number of Documentation/admin-guide/devices.txt of Linux
constexpr unsigned kMinor = 200;

constexpr std::string_view kOwnNetwork = "give the tree a network namespace of its own";

[[noreturn]] void refuse(const files::OpenFd& file, const kernel::TunAttachment& attached, std::string_view why,
                         std::string_view hint) {
    Error error(0, fmt::format("{} is attached to network device {}, which {}", file.describe(), attached.device, why));
    error.addHint(hint);
    throw error;
}

using Devices = std::vector<Record<NetDeviceEntry>>;

class RestoredTunFile final : public files::RestoredFile {
public:
    RestoredTunFile(const FileEntry& entry, const Devices& devices)
        : entry_(*entry.tunf), path_(*entry.reg), device_(find(devices)) {}

    [[nodiscard]] std::string describe() const override {
        return device_ != nullptr ? fmt::format("descriptor of tun device {}", device_->name) : "unattached tun device";
    }

    void open(files::FileOpener& opener) override {
        const FileId id{entry_.id};
        UniqueFd fd = opener.openPath(id, static_cast<int>(path_.flags));
        if (device_ != nullptr) {
            const TunLinkEntry& tun = *device_->tun;
            kernel::attachTun(fd.get(), device_->name, tun.flags);
            kernel::writeTunSettings(fd.get(), {tun.vnethdr, tun.sndbuf, tun.vnet_le != 0, false});
            // Reverts a temporary setting: restoreTunDevice() has made the device persistent until a descriptor is
            // attached.
            if ((tun.flags & IFF_PERSIST) == 0)
                kernel::setTunPersistent(fd.get(), false);
            if (entry_.detached != 0)
                kernel::detachTunQueue(fd.get());
        }
        opener.provide(id, std::move(fd));
    }

    [[nodiscard]] const FownEntry* owner(FileId) const override { return path_.fown; }

private:
    [[nodiscard]] const NetDeviceEntry* find(const Devices& devices) const {
        if (entry_.netdev == nullptr)
            return nullptr;
        for (const auto& device : devices)
            if (device->tun != nullptr && std::string_view(device->name) == entry_.netdev)
                return device.get();
        fail("file {} is attached to tun device {}, which the images don't have", entry_.id, entry_.netdev);
    }

    const TunfileEntry& entry_;
    const RegFileEntry& path_;
    const NetDeviceEntry* device_;
};

class TunFileKindDump final : public files::FileKindDump {
public:
    TunFileKindDump(files::PathDump& paths, TunDevices& devices) : paths_(paths), tunDevices_(devices) {}

    [[nodiscard]] bool claims(const files::OpenFd& file) const override { return isTunDescriptor(file); }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        Arena& arena = dump.arena();
        auto& out = *arena.make<TunfileEntry>();
        entry.tunf = &out;
        out.id = entry.id;
        out.has_ns_id = 1;
        out.ns_id = file.network;
        if (const auto attached = kernel::readTunAttachment(file.copy.get())) {
            refuseElsewhere(file, *attached);
            out.netdev = arena.string(attached->device);
            out.has_detached = out.detached = attached->detached;
            const auto settings = kernel::readTunSettings(file.copy.get(), (attached->flags & IFF_TAP) != 0);
            if (settings.filtered)
                refuse(file, *attached, "has a packet filter (BPF), which can't be read out",
                       "have the program detach it before the dump");
            tunDevices_.note(file.network, *attached, settings);
            pollfd ask{file.copy.get(), POLLIN, 0};
            sys(::poll(&ask, 1, 0), "poll a tun device");
            if ((ask.revents & POLLIN) != 0)
                dump.log().loss(Loss::Packets, "Packets that wait in {} are dropped", file.describe());
        }
        // Stores the path in a separate entry with the same id.
        auto& pathEntry = *arena.make<FileEntry>();
        auto& path = *arena.make<RegFileEntry>();
        pathEntry.type = FD_TYPES__REG;
        pathEntry.id = path.id = entry.id;
        pathEntry.reg = &path;
        path.fown = dump.owner(file);
        path.flags = file.statusFlags();
        paths_.fill(file, path.flags, false, path, dump);
        dump.add(pathEntry);
    }

private:
    void refuseElsewhere(const files::OpenFd& file, const kernel::TunAttachment& attached) const {
        if (!tunDevices_.carried(file.network))
            refuse(file, attached, "is in a network namespace that isn't dumped", kOwnNetwork);
    }

    files::PathDump& paths_;
    TunDevices& tunDevices_;
};

class TunFileKindRestore final : public files::FileKindRestore {
public:
    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore& restore) override {
        if (entry.tunf == nullptr || entry.reg == nullptr)
            fail("file {} is said to be of a tun device but has no description of one, or no path", entry.id);
        const auto number = entry.tunf->has_ns_id != 0
                                ? entry.tunf->ns_id
                                : restore.namespaceNumber(kernel::NamespaceKind::Net).value_or(0);
        const auto [known, fresh] = devices_.try_emplace(number);
        if (fresh)
            if (auto image = restore.images().openRead(ImageKind::Netdev, number))
                known->second = image->all<NetDeviceEntry>();
        return std::make_shared<RestoredTunFile>(entry, known->second);
    }

private:
    std::map<std::uint32_t, Devices> devices_;  ///< the key is the namespace id
};

}  // namespace

bool isTunDescriptor(const files::OpenFd& file) {
    return S_ISCHR(file.stat.st_mode) && major(file.stat.st_rdev) == kMajor && minor(file.stat.st_rdev) == kMinor &&
           (file.info.flags & O_PATH) == 0;
}

std::unique_ptr<files::FileKindDump> makeTunFileDump(files::PathDump& paths, TunDevices& devices) {
    return std::make_unique<TunFileKindDump>(paths, devices);
}

std::unique_ptr<files::FileKindRestore> makeTunFileRestore() {
    return std::make_unique<TunFileKindRestore>();
}

}  // namespace criu::namespaces
