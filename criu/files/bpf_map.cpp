// SPDX-License-Identifier: GPL-2.0-only
#include "criu/files/anonymous_kinds.hpp"

#include <fcntl.h>
#include <linux/bpf.h>

#include <map>
#include <optional>
#include <set>

#include "criu/files/file_dump.hpp"
#include "criu/files/file_kind_dump.hpp"
#include "criu/files/file_kind_restore.hpp"
#include "criu/files/file_opener.hpp"
#include "criu/files/file_restore.hpp"
#include "criu/files/open_fd.hpp"
#include "criu/files/restored_file.hpp"
#include "criu/image/arena.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/kernel/bpf_map.hpp"
#include "images/bpfmap-data.hpp"
#include "images/bpfmap-file.hpp"
#include "images/fdinfo.hpp"

namespace criu::files {
namespace {

/// Returns the flags of BPF_MAP_GET_FD_BY_ID for the access mode of a descriptor.
std::uint32_t accessFlags(std::uint32_t openFlags) {
    switch (openFlags & O_ACCMODE) {
        case O_RDONLY:
            return BPF_F_RDONLY;
        case O_WRONLY:
            return BPF_F_WRONLY;
        default:
            return 0;
    }
}

/// Returns true for map types whose elements are plain bytes, with one value for each key.
bool isSupported(std::uint32_t type) {
    return type == BPF_MAP_TYPE_HASH || type == BPF_MAP_TYPE_ARRAY;
}

/// Elements of all maps in the images. criu loads them before it opens any map, because it may open the descriptors of
/// a map in any order.
class Contents {
public:
    void load(const ImageDir& images) {
        auto reader = images.openRead(ImageKind::BpfmapData);
        if (!reader)
            return;
        while (const auto entry = reader->next<BpfmapDataEntry>()) {
            const BpfmapDataEntry& head = **entry;
            kernel::BpfMapContent content;
            content.count = head.count;
            content.keys = reader->payload(head.keys_bytes);
            content.values = reader->payload(head.values_bytes);
            maps_.insert_or_assign(head.map_id, std::move(content));
        }
    }

    /// Returns null if the images have no elements of this map.
    [[nodiscard]] const kernel::BpfMapContent* find(std::uint32_t mapId) const {
        const auto found = maps_.find(mapId);
        return found == maps_.end() ? nullptr : &found->second;
    }

private:
    std::map<std::uint32_t, kernel::BpfMapContent> maps_;
};

/// One BPF map with all its open file descriptions.
class RestoredBpfMap final : public RestoredFile {
public:
    RestoredBpfMap(std::uint32_t mapId, const Contents& contents) : id_(mapId), contents_(contents) {}

    void add(const BpfmapFileEntry& entry) { entries_.push_back(&entry); }

    [[nodiscard]] std::string describe() const override { return fmt::format("BPF map {}", id_); }

    void open(FileOpener& opener) override {
        const BpfmapFileEntry& any = *entries_.front();
        kernel::BpfMapAttributes attributes;
        attributes.type = any.map_type;
        attributes.keySize = any.key_size;
        attributes.valueSize = any.value_size;
        attributes.maxEntries = any.max_entries;
        attributes.flags = any.map_flags;
        attributes.extra = any.has_map_extra != 0 ? any.map_extra : 0;
        attributes.ifindex = any.ifindex;
        attributes.name = any.map_name;
        UniqueFd map = opener.toServiceRange(kernel::createBpfMap(attributes));
        fill(map.get(), attributes);
        if (any.frozen != 0)
            kernel::freezeBpfMap(map.get());

        if (entries_.size() == 1 && accessFlags(any.flags) == 0) {
            provide(opener, any, std::move(map));
            return;
        }
        const std::uint32_t newId = kernel::readBpfMapNames(map.get()).id;
        for (const BpfmapFileEntry* const entry : entries_)
            provide(opener, *entry, kernel::openBpfMap(newId, accessFlags(entry->flags)));
    }

    [[nodiscard]] const FownEntry* owner(FileId id) const override {
        for (const BpfmapFileEntry* const entry : entries_)
            if (entry->id == id.value)
                return entry->fown;
        return nullptr;
    }

private:
    void fill(int map, const kernel::BpfMapAttributes& attributes) const {
        const kernel::BpfMapContent* const content = contents_.find(id_);
        if (content == nullptr || content->count == 0)
            return;
        if (content->keys.size() != std::size_t{content->count} * attributes.keySize ||
            content->values.size() != std::size_t{content->count} * attributes.valueSize)
            fail("the images have {} and {} bytes for {} elements", content->keys.size(), content->values.size(),
                 content->count);
        kernel::fillBpfMap(map, content->count, content->keys, content->values);
    }

    static void provide(FileOpener& opener, const BpfmapFileEntry& entry, UniqueFd fd) {
        const int flags = static_cast<int>(entry.flags);
        sys(::fcntl(fd.get(), F_SETFL, flags), "set flags {:#o} of a BPF map", flags);
        opener.provide(FileId{entry.id}, std::move(fd));
    }

    std::uint32_t id_;
    const Contents& contents_;
    std::vector<const BpfmapFileEntry*> entries_;
};

class BpfMapKindDump final : public FileKindDump {
public:
    [[nodiscard]] bool claims(const OpenFd& file) const override { return file.isAnonymous("bpf-map"); }

    void dump(const OpenFd& file, FileEntry& entry, FileDump& dump) override {
        const kernel::BpfMapInfo info = kernel::parseBpfMap(file.info.text);
        if (!isSupported(info.type))
            fail("{} is a BPF map of type {}; only hash and array maps can be dumped", file.describe(), info.type);
        const kernel::BpfMapNames names = kernel::readBpfMapNames(file.copy.get());
        auto& out = *dump.arena().make<BpfmapFileEntry>();
        entry.bpf = &out;
        out.id = entry.id;
        out.flags = file.statusFlags();
        out.pos = static_cast<std::uint64_t>(file.info.pos);
        out.fown = dump.owner(file);
        out.map_type = info.type;
        out.key_size = info.keySize;
        out.value_size = info.valueSize;
        out.map_id = info.id;
        out.max_entries = info.maxEntries;
        out.map_flags = info.flags;
        out.memlock = info.memlock;
        out.frozen = info.frozen;
        out.map_name = dump.arena().string(names.name);
        out.ifindex = names.ifindex;
        out.map_extra = info.extra.value_or(0);
        out.has_map_extra = out.map_extra != 0;
        const ErrorContext context([&] { return file.describe(); });
        dumpContent(file, info, dump);
    }

    void finish(FileDump&) override {
        if (image_)
            image_->finish();
    }

private:
    void dumpContent(const OpenFd& file, const kernel::BpfMapInfo& info, FileDump& dump) {
        if (!written_.insert(info.id).second)
            return;
        kernel::BpfMapAttributes attributes;
        attributes.keySize = info.keySize;
        attributes.valueSize = info.valueSize;
        attributes.maxEntries = info.maxEntries;
        // Descriptor for reading. Needed if the dumped descriptor is open only for writing.
        UniqueFd readable;
        if ((file.info.flags & O_ACCMODE) == O_WRONLY) {
            // Refuses a client with fewer privileges: a map has no owner, so that criu can't check whether the client
            // may read it.
            if (dump.images().isLimited())
                failWith(EPERM, "it isn't open for reading, and a map can't be read by the client");
            readable = kernel::openBpfMap(info.id, BPF_F_RDONLY);
        }
        const kernel::BpfMapContent content =
            kernel::readBpfMap(readable ? readable.get() : file.copy.get(), attributes);
        if (!image_)
            image_.emplace(dump.images().create(ImageKind::BpfmapData));
        BpfmapDataEntry head = BPFMAP_DATA_ENTRY__INIT;
        head.map_id = info.id;
        head.keys_bytes = static_cast<std::uint32_t>(content.keys.size());
        head.values_bytes = static_cast<std::uint32_t>(content.values.size());
        head.count = content.count;
        if (head.keys_bytes != content.keys.size() || head.values_bytes != content.values.size())
            fail("its {} elements are more than images have room for", content.count);
        image_->write(head);
        image_->payload(content.keys);
        image_->payload(content.values);
    }

    std::set<std::uint32_t> written_;
    std::optional<ImageWriter> image_;
};

class BpfMapKindRestore final : public FileKindRestore {
public:
    void prepare(FileRestore& restore) override { contents_.load(restore.images()); }

    std::shared_ptr<RestoredFile> collect(const FileEntry& entry, FileRestore&) override {
        if (entry.bpf == nullptr)
            fail("file {} is a BPF map without data", entry.id);
        if (!isSupported(entry.bpf->map_type))
            fail("file {} is a BPF map of type {}; only hash and array maps can be restored", entry.id,
                 entry.bpf->map_type);
        auto& map = maps_[entry.bpf->map_id];
        if (!map)
            map = std::make_shared<RestoredBpfMap>(entry.bpf->map_id, contents_);
        map->add(*entry.bpf);
        return map;
    }

private:
    Contents contents_;
    std::map<std::uint32_t, std::shared_ptr<RestoredBpfMap>> maps_;
};

}  // namespace

std::unique_ptr<FileKindDump> makeBpfMapDump() {
    return std::make_unique<BpfMapKindDump>();
}

std::unique_ptr<FileKindRestore> makeBpfMapRestore() {
    return std::make_unique<BpfMapKindRestore>();
}

}  // namespace criu::files
