// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/checkpoint_items.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

#include "criu/base/error.hpp"
#include "criu/engine/compare/message_fields.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/reader.hpp"
#include "images/bpfmap-data.hpp"
#include "images/cgroup.hpp"
#include "images/core.hpp"
#include "images/ghost-file.hpp"
#include "images/inventory.hpp"
#include "images/ipc-msg.hpp"
#include "images/ipc-sem.hpp"
#include "images/ipc-shm.hpp"
#include "images/pipe-data.hpp"
#include "images/seccomp.hpp"
#include "images/sk-packet.hpp"
#include "images/tcp-stream.hpp"

namespace criu::engine {
namespace {

/// How the records of a kind of image are found.
struct SearchRule {
    ImageKind kind;
    ItemSearch search;
    IdClass ids = IdClass::File;
    std::string_view field = {};  ///< field with the id; empty if the number in the image's name is the id
};

constexpr auto kSearchRules = std::to_array<SearchRule>({
    {ImageKind::Pstree, ItemSearch::Process},
    {ImageKind::Core, ItemSearch::Process},
    {ImageKind::Ids, ItemSearch::Process},
    {ImageKind::Mm, ItemSearch::Process},
    {ImageKind::Fs, ItemSearch::Process},
    {ImageKind::Fdinfo, ItemSearch::Id, IdClass::Descriptors},
    {ImageKind::Files, ItemSearch::Id, IdClass::File, "id"},
    {ImageKind::RemapFpath, ItemSearch::Id, IdClass::File, "orig_id"},
    {ImageKind::SkQueues, ItemSearch::Id, IdClass::File, "id_for"},
    {ImageKind::Pidfd, ItemSearch::Id, IdClass::File, "id"},
    {ImageKind::BpfmapFile, ItemSearch::Id, IdClass::File, "id"},
    {ImageKind::BpfmapData, ItemSearch::Id, IdClass::BpfMap, "map_id"},
    {ImageKind::GhostFile, ItemSearch::Id, IdClass::Remap},
    {ImageKind::TcpStream, ItemSearch::Id, IdClass::Socket},
    {ImageKind::PipesData, ItemSearch::Id, IdClass::Pipe, "pipe_id"},
    {ImageKind::FifoData, ItemSearch::Id, IdClass::Pipe, "pipe_id"},
    {ImageKind::TtyInfo, ItemSearch::Id, IdClass::Terminal, "id"},
    {ImageKind::TtyData, ItemSearch::Id, IdClass::Terminal, "tty_id"},
    {ImageKind::Memfd, ItemSearch::Id, IdClass::Memfd, "inode_id"},
    {ImageKind::Utsns, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Userns, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Timens, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Pidns, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::IpcVar, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::IpcShm, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::IpcMsg, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::IpcSem, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::IpcMqueue, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Mountpoints, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Netns, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Netdev, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Ifaddr, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Route, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Route6, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Rule, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Iptables, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Ip6tables, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Nftables, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::Conntrack, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::ConntrackExpect, ItemSearch::Id, IdClass::Namespace},
    {ImageKind::TmpfsDev, ItemSearch::Id, IdClass::FileSystem},
    {ImageKind::TmpfsFiles, ItemSearch::Id, IdClass::FileSystem},
    {ImageKind::Autofs, ItemSearch::Id, IdClass::FileSystem},
    {ImageKind::Pagemap, ItemSearch::Pages},
    {ImageKind::ShmemPagemap, ItemSearch::Pages},
    {ImageKind::FilesPagemap, ItemSearch::Pages},
    {ImageKind::DevicePagemap, ItemSearch::Pages},
    {ImageKind::Pages, ItemSearch::Pages},
    {ImageKind::Checksums, ItemSearch::Ignored},
    {ImageKind::Encryption, ItemSearch::Ignored},
    {ImageKind::Encrypted, ItemSearch::Ignored},
    {ImageKind::PagesEncryption, ItemSearch::Ignored},
    {ImageKind::EncryptedPages, ItemSearch::Ignored},
    {ImageKind::Signature, ItemSearch::Ignored},
    {ImageKind::StatsDump, ItemSearch::Ignored},
    {ImageKind::StatsRestore, ItemSearch::Ignored},
    {ImageKind::IrmapCache, ItemSearch::Ignored},
    {ImageKind::Cpuinfo, ItemSearch::Ignored},
});

const SearchRule* ruleOf(ImageKind kind) noexcept {
    const auto rule = std::ranges::find(kSearchRules, kind, &SearchRule::kind);
    return rule == kSearchRules.end() ? nullptr : &*rule;
}

std::uint64_t padded(std::uint64_t bytes) noexcept {
    return (bytes + 7) & ~std::uint64_t{7};
}

void append(std::vector<std::byte>& to, const std::vector<std::byte>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

void appendNumber(std::vector<std::byte>& to, std::uint64_t number) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&number);
    to.insert(to.end(), bytes, bytes + sizeof(number));
}

/// Reads the messages that follow the head of a System V message queue.
std::vector<std::byte> readMessages(ImageReader& reader, const IpcMsgEntry& queue) {
    std::vector<std::byte> all;
    for (std::uint32_t i = 0; i < queue.qnum; ++i) {
        const auto head = reader.one<IpcMsg>();
        appendNumber(all, head->mtype);
        appendNumber(all, head->msize);
        std::vector<std::byte> text = reader.payload(padded(head->msize));
        text.resize(head->msize);
        append(all, text);
    }
    return all;
}

/// Reads the content of a ghost file. Omits zeroes at the end of an extent, because only the size tells holes from
/// them.
std::vector<std::byte> readGhost(ImageReader& reader, const GhostFileEntry& file) {
    std::vector<std::byte> all;
    const auto add = [&all](std::uint64_t offset, std::vector<std::byte> bytes) {
        constexpr std::uint64_t kPage = 4096;
        for (std::uint64_t at = 0; at < bytes.size(); at += kPage) {
            const std::uint64_t size = std::min<std::uint64_t>(kPage, bytes.size() - at);
            const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
            const auto end = begin + static_cast<std::ptrdiff_t>(size);
            if (std::all_of(begin, end, [](std::byte each) { return each == std::byte{0}; }))
                continue;
            appendNumber(all, offset + at);
            all.insert(all.end(), begin, end);
        }
    };
    if (file.has_chunks == 0 || file.chunks == 0) {
        constexpr std::size_t kMost = std::size_t{1} << 40;
        add(0, reader.rest(kMost));
        return all;
    }
    while (const auto chunk = reader.next<GhostChunkEntry>())
        add((*chunk)->off, reader.payload((*chunk)->len));
    return all;
}

/// Sorts the elements of a BPF map by key. A hash map has no order. `content`: all keys, then all values.
std::vector<std::byte> sortedElements(const BpfmapDataEntry& map, const std::vector<std::byte>& content) {
    if (map.count == 0)
        return content;
    const std::size_t key = map.keys_bytes / map.count;
    const std::size_t value = map.values_bytes / map.count;
    std::vector<std::vector<std::byte>> elements;
    for (std::size_t i = 0; i < map.count; ++i) {
        const std::byte* const keys = content.data() + i * key;
        const std::byte* const values = content.data() + map.keys_bytes + i * value;
        elements.emplace_back(keys, keys + key).insert(elements.back().end(), values, values + value);
    }
    std::ranges::sort(elements);
    std::vector<std::byte> sorted;
    for (const auto& element : elements)
        append(sorted, element);
    return sorted;
}

/// Reads the payload that follows a record.
std::vector<std::byte> readPayload(ImageReader& reader, ImageKind kind, const ProtobufCMessage& message) {
    switch (kind) {
        case ImageKind::SkQueues:
            return reader.payload(viewAs<SkPacketEntry>(message).length);
        case ImageKind::PipesData:
        case ImageKind::FifoData:
            return reader.payload(viewAs<PipeDataEntry>(message).bytes);
        case ImageKind::TcpStream: {
            const auto& stream = viewAs<TcpStreamEntry>(message);
            return reader.payload(std::uint64_t{stream.inq_len} + stream.outq_len);
        }
        case ImageKind::BpfmapData: {
            const auto& map = viewAs<BpfmapDataEntry>(message);
            return sortedElements(map, reader.payload(std::uint64_t{map.keys_bytes} + map.values_bytes));
        }
        case ImageKind::IpcSem: {
            const std::uint64_t bytes = std::uint64_t{viewAs<IpcSemEntry>(message).nsems} * sizeof(std::uint16_t);
            std::vector<std::byte> values = reader.payload(padded(bytes));
            values.resize(bytes);
            return values;
        }
        case ImageKind::IpcMsg:
            return readMessages(reader, viewAs<IpcMsgEntry>(message));
        case ImageKind::IpcShm: {
            const auto& segment = viewAs<IpcShmEntry>(message);
            const bool apart = segment.has_in_pagemaps != 0 && segment.in_pagemaps != 0;
            return apart ? std::vector<std::byte>() : reader.payload((segment.size + 3) & ~std::uint64_t{3});
        }
        case ImageKind::GhostFile:
            return readGhost(reader, viewAs<GhostFileEntry>(message));
        default:
            return {};
    }
}

/// Number in the name of an image.
std::uint64_t numberInName(ImageKind kind, std::string_view file) {
    const std::string_view pattern = imageInfo(kind).name;
    const std::size_t open = pattern.find('{');
    if (open == std::string_view::npos)
        return 0;
    const std::size_t after = pattern.size() - pattern.find('}') - 1;
    const int base = pattern.find(":x}") != std::string_view::npos ? 16 : 10;
    return std::strtoull(std::string(file.substr(open, file.size() - open - after)).c_str(), nullptr, base);
}

}  // namespace

ItemSearch searchOf(ImageKind kind) noexcept {
    const SearchRule* const rule = ruleOf(kind);
    return rule != nullptr ? rule->search : ItemSearch::Whole;
}

CheckpointItems::CheckpointItems(const ImageDir& images, const std::function<void()>& checkStop) : images_(images) {
    std::vector<std::string> names = namesIn(images);
    std::ranges::sort(names);
    for (const std::string& name : names) {
        checkStop();
        const auto kind = imageKindOf(name);
        if (!kind) {
            if (name.ends_with(".img"))
                unknown_.push_back(name);
            continue;
        }
        const ItemSearch search = searchOf(*kind);
        if (search != ItemSearch::Pages && search != ItemSearch::Ignored)
            readImage(*kind, numberInName(*kind, name));
    }
}

CheckpointItems::~CheckpointItems() = default;

void CheckpointItems::readImage(ImageKind kind, std::uint64_t number) {
    const ImageInfo& info = imageInfo(kind);
    if (info.record == nullptr) {
        add({kind, number, nullptr, {}, std::nullopt});
        return;
    }
    ImageReader reader = images_.openRequired(kind, number);
    while (AnyRecord record = reader.nextOf(*info.record)) {
        std::shared_ptr<const ProtobufCMessage> message(std::move(record));
        std::vector<std::byte> payload = readPayload(reader, kind, *message);
        if (kind == ImageKind::Seccomp) {
            const auto& all = viewAs<SeccompEntry>(*message);
            for (std::size_t i = 0; i < all.n_seccomp_filters; ++i)
                add({kind, number, {message, &all.seccomp_filters[i]->base}, {}, ItemId{IdClass::SeccompFilter, i}});
        } else if (kind == ImageKind::Cgroup) {
            const auto& all = viewAs<CgroupEntry>(*message);
            for (const CgSetEntry* const set : list(all.sets, all.n_sets))
                add({kind, number, {message, &set->base}, {}, ItemId{IdClass::CgroupSet, set->id}});
            for (const CgControllerEntry* const controller : list(all.controllers, all.n_controllers))
                add({kind, number, {message, &controller->base}, {}, std::nullopt});
        } else {
            add({kind, number, std::move(message), std::move(payload), std::nullopt});
        }
    }
}

void CheckpointItems::add(CheckpointItem item) {
    const SearchRule* const rule = ruleOf(item.kind);
    if (!item.id && rule != nullptr && rule->search == ItemSearch::Id) {
        const auto found = rule->field.empty() ? std::optional(item.number) : numberIn(*item.message, rule->field);
        if (!found)
            fail("{}: a record has no {}", imageName(item.kind, item.number), rule->field);
        item.id = ItemId{rule->ids, *found};
        if (item.kind == ImageKind::Timens && *found == 0)
            item.id->number = timeNamespaceOfCriu();
    }
    const CheckpointItem& added = *items_.emplace_back(std::make_unique<CheckpointItem>(std::move(item)));
    if (added.id)
        byId_.emplace(std::pair(added.id->ids, added.id->number), &added);
    byImage_.emplace(std::pair(added.kind, added.number), &added);
}

/// Returns the namespace id of criu's time namespace. timens-0 describes this namespace.
std::uint64_t CheckpointItems::timeNamespaceOfCriu() const {
    const CheckpointItem* const inventory = one(ImageKind::Inventory);
    const TaskKobjIdsEntry* const own =
        inventory != nullptr ? viewAs<InventoryEntry>(*inventory->message).root_ids : nullptr;
    return own != nullptr ? own->time_ns_id : 0;
}

std::map<ImageKind, CheckpointItemList> CheckpointItems::of(IdClass ids, std::uint64_t number) const {
    std::map<ImageKind, CheckpointItemList> found;
    for (auto [at, end] = byId_.equal_range({ids, number}); at != end; ++at)
        found[at->second->kind].push_back(at->second);
    return found;
}

CheckpointItemList CheckpointItems::of(ImageKind kind, std::uint64_t number) const {
    CheckpointItemList found;
    for (auto [at, end] = byImage_.equal_range({kind, number}); at != end; ++at)
        found.push_back(at->second);
    return found;
}

const CheckpointItem* CheckpointItems::one(ImageKind kind, std::uint64_t number) const {
    const CheckpointItemList found = of(kind, number);
    return found.empty() ? nullptr : found.front();
}

CheckpointItemList CheckpointItems::all() const {
    CheckpointItemList found;
    for (const auto& item : items_)
        found.push_back(item.get());
    return found;
}

}  // namespace criu::engine
