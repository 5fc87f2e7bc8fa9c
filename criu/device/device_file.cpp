// SPDX-License-Identifier: GPL-2.0-only
#include "criu/device/device_file.hpp"

#include "criu/base/error.hpp"
#include "criu/device/dump_devices.hpp"
#include "criu/device/restore_devices.hpp"
#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/placed_files.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/arena.hpp"
#include "images/ext-file.hpp"
#include "images/fdinfo.hpp"

namespace criu::device {
namespace {

class RestoredDeviceFile final : public files::RestoredFile {
public:
    RestoredDeviceFile(const ExtFileEntry& entry, const RestoreDevices& devices, const files::FileRestore& files)
        : entry_(entry),
          devices_(devices),
          needs_(devices.needs(id(), files)),
          late_(devices.late(id())),
          early_(devices.early(id())) {}

    [[nodiscard]] std::string describe() const override { return fmt::format("device file {}", id()); }
    void open(files::FileOpener& opener) override {
        if (!devices_.open(id(), opener))
            opener.postpone();
    }
    [[nodiscard]] bool late() const override { return late_; }
    [[nodiscard]] bool early() const override { return early_; }
    void complete(files::PlacedFiles& files) override { devices_.complete(id(), files); }
    [[nodiscard]] const FownEntry* owner(FileId) const override { return entry_.fown; }
    [[nodiscard]] std::vector<FileId> needs() const override { return needs_; }

private:
    [[nodiscard]] FileId id() const { return FileId{entry_.id}; }

    const ExtFileEntry& entry_;
    const RestoreDevices& devices_;
    std::vector<FileId> needs_;
    bool late_;
    bool early_;
};

class DeviceFileKindDump final : public files::FileKindDump {
public:
    explicit DeviceFileKindDump(DumpDevices& devices) : devices_(devices) {}

    [[nodiscard]] bool claims(const files::OpenFd& file) const override { return devices_.claims(file); }

    void dump(const files::OpenFd& file, FileEntry& entry, files::FileDump& dump) override {
        devices_.dump(file, FileId{entry.id});
        auto& out = *dump.arena().make<ExtFileEntry>();
        entry.ext = &out;
        out.id = entry.id;
        out.fown = dump.owner(file);
    }

private:
    DumpDevices& devices_;
};

class DeviceFileKindRestore final : public files::FileKindRestore {
public:
    explicit DeviceFileKindRestore(RestoreDevices& devices) : devices_(devices) {}

    void prepare(files::FileRestore& restore) override { devices_.prepare(restore); }

    std::shared_ptr<files::RestoredFile> collect(const FileEntry& entry, files::FileRestore& restore) override {
        if (entry.ext == nullptr)
            fail("file {} is one of a plugin, without data", entry.id);
        return std::make_shared<RestoredDeviceFile>(*entry.ext, devices_, restore);
    }

private:
    RestoreDevices& devices_;
};

}  // namespace

std::unique_ptr<files::FileKindDump> makeDeviceFileDump(DumpDevices& devices) {
    return std::make_unique<DeviceFileKindDump>(devices);
}

std::unique_ptr<files::FileKindRestore> makeDeviceFileRestore(RestoreDevices& devices) {
    return std::make_unique<DeviceFileKindRestore>(devices);
}

}  // namespace criu::device
