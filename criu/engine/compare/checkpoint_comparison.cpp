// SPDX-License-Identifier: GPL-2.0-only
#include "criu/engine/compare/checkpoint_comparison.hpp"

#include <fcntl.h>
#include <linux/rseq.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/engine/compare/checkpoint_items.hpp"
#include "criu/engine/compare/field_rules.hpp"
#include "criu/engine/compare/id_relations.hpp"
#include "criu/engine/compare/mapping_lists.hpp"
#include "criu/engine/compare/memory_comparison.hpp"
#include "criu/engine/compare/message_comparison.hpp"
#include "criu/engine/compare/message_fields.hpp"
#include "criu/engine/compare/raw_images.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/pagemap.hpp"
#include "criu/memory/mappings/vma_status.hpp"
#include "criu/memory/pages/page_files.hpp"
#include "criu/model/process_tree.hpp"
#include "images/core.hpp"
#include "images/inventory.hpp"
#include "images/mm.hpp"
#include "images/pstree.hpp"
#include "images/rseq.hpp"
#include "images/tmpfs-files.hpp"
#include "images/tty.hpp"

namespace criu::engine {
namespace {

template <Message T>
const T& recordOf(const CheckpointItem& item) noexcept {
    return viewAs<T>(*item.message);
}

/// Returns the name of a kind of image without number and suffix, such as "tty-info".
std::string_view shortName(ImageKind kind) noexcept {
    const std::string_view name = imageInfo(kind).name;
    const std::size_t end = std::min(name.find("-{"), name.find('.'));
    return name.substr(0, end);
}

std::vector<const ProtobufCMessage*> messagesOf(const CheckpointItemList& items) {
    std::vector<const ProtobufCMessage*> messages;
    for (const CheckpointItem* const item : items) {
        item->compared = true;
        messages.push_back(item->message.get());
    }
    return messages;
}

/// Returns true if records of the kind have keys, by which compareLists() matches them.
bool hasKeys(ImageKind kind) noexcept {
    const ProtobufCMessageDescriptor* const type = imageInfo(kind).record;
    return type != nullptr && std::ranges::any_of(fieldRules(), [type](const FieldRule& rule) {
               return rule.kind == FieldRule::Kind::Key && rule.message == type->name;
           });
}

std::string readAll(int file) {
    std::string all;
    std::vector<char> piece(std::size_t{64} << 10);
    while (const ssize_t count = sys(::read(file, piece.data(), piece.size()), "read an image"))
        all.append(piece.data(), static_cast<std::size_t>(count));
    return all;
}

/// One checkpoint, by processes.
struct Processes {
    explicit Processes(const CheckpointItems& from) : items(from) {
        for (const CheckpointItem* const item : items.of(ImageKind::Pstree))
            byPid.emplace(recordOf<PstreeEntry>(*item).pid, item);
    }

    [[nodiscard]] const CoreEntry* core(std::uint32_t tid) const {
        const CheckpointItem* const item = items.one(ImageKind::Core, tid);
        return item != nullptr ? &recordOf<CoreEntry>(*item) : nullptr;
    }
    [[nodiscard]] std::string nameOf(std::uint32_t pid) const {
        const CoreEntry* const leader = core(pid);
        return fmt::format("{} ({})", pid, leader != nullptr && leader->tc != nullptr ? leader->tc->comm : "?");
    }
    [[nodiscard]] model::TaskState stateOf(std::uint32_t pid) const {
        const CoreEntry* const leader = core(pid);
        return leader != nullptr && leader->tc != nullptr ? static_cast<model::TaskState>(leader->tc->task_state)
                                                          : model::TaskState::Dead;
    }
    [[nodiscard]] bool areStopped() const {
        return std::ranges::all_of(byPid,
                                   [this](const auto& each) { return stateOf(each.first) != model::TaskState::Alive; });
    }

    const CheckpointItems& items;
    std::map<std::uint32_t, const CheckpointItem*> byPid;
};

class CheckpointComparison final : public ComparisonSink {
public:
    CheckpointComparison(const ImageDir& image, const ImageDir& tree, const std::function<void()>& checkStop)
        : checkStop_(checkStop),
          imageItems_(image, checkStop),
          treeItems_(tree, checkStop),
          before_(imageItems_),
          now_(treeItems_),
          imagePages_(image),
          treePages_(tree),
          memory_(imagePages_, treePages_, checkStop),
          isStopped_(now_.areStopped()) {}

    void run();
    [[nodiscard]] Differences take() { return std::move(differences_); }

    void differs(const Place& place, std::string field, std::string image, std::string tree) override {
        differences_.found.push_back({place, std::move(field), std::move(image), std::move(tree)});
    }
    void relate(IdClass ids, std::uint64_t image, std::uint64_t tree, const Place& place,
                const std::string& field) override;
    [[nodiscard]] bool treeIsStopped() const noexcept override { return isStopped_; }

private:
    /// Pair of objects that is to be compared.
    struct Pending {
        IdClass ids;
        std::uint64_t image;
        std::uint64_t tree;
        Place place;
    };

    void compareInventories();
    void compareProcesses();
    void compareProcess(std::uint32_t pid);
    void compareThreads(std::uint32_t pid, const Place& place);
    void compareAddressSpaces(std::uint32_t pid, const Place& place);
    void compareOf(ImageKind kind, std::uint32_t pid, const Place& place);
    void comparePending();
    void compareObject(const Pending& pending);
    void relateSlave(const Pending& pending);
    void compareItems(ImageKind kind, const CheckpointItemList& image, const CheckpointItemList& tree,
                      const Place& place);
    void compareFiles(const CheckpointItem& image, const CheckpointItem& tree, const Place& place);
    [[nodiscard]] std::vector<KernelBytes> kernelBytesOf(std::uint32_t pid) const;
    void compareMemory(const memory::MemoryObject& image, const memory::MemoryObject& tree, const ComparedRange& range,
                       const Place& place);
    [[nodiscard]] RawParts partsOf(const CheckpointItems& items, const memory::PageSources& pages,
                                   const CheckpointItem& item) const;
    [[nodiscard]] std::map<std::string, ContentApart> contentsApart(const CheckpointItems& items,
                                                                    const memory::PageSources& pages,
                                                                    std::uint64_t device) const;
    void compareWholes();
    void compareRest();
    void compareUnknown();

    [[nodiscard]] static Place placeOf(const Pending& pending, ImageKind kind);

    const std::function<void()>& checkStop_;
    CheckpointItems imageItems_;
    CheckpointItems treeItems_;
    Processes before_;
    Processes now_;
    memory::FilePageSources imagePages_;
    memory::FilePageSources treePages_;
    MemoryComparison memory_;
    bool isStopped_;
    IdRelations relations_;
    std::deque<Pending> pending_;
    Differences differences_;
};

void CheckpointComparison::relate(IdClass ids, std::uint64_t image, std::uint64_t tree, const Place& place,
                                  const std::string& field) {
    // 0 and -1 mean no object, except that the first seccomp filter and the first terminal have the number 0.
    const auto isNone = [ids](std::uint64_t id) {
        return (id == 0 && ids != IdClass::SeccompFilter && ids != IdClass::Terminal) || id == ~std::uint64_t{0} ||
               id == ~std::uint32_t{0};
    };
    if (isNone(image) || isNone(tree)) {
        const auto text = [&](std::uint64_t id) { return std::string(isNone(id) ? "none" : nameOf(ids)); };
        if (isNone(image) != isNone(tree))
            differs(place, field, text(image), text(tree));
        return;
    }
    switch (relations_.bind(ids, image, tree)) {
        case IdRelations::Bound::Fresh:
            // A file of the process itself, such as its current directory, has no other name than the field.
            pending_.push_back(
                {ids, image, tree, ids == IdClass::File && place.object.empty() ? place.within(field) : place});
            break;
        case IdRelations::Bound::Known:
            break;
        case IdRelations::Bound::Conflict:
            differs(place, field, fmt::format("{} {}", nameOf(ids), image),
                    fmt::format("{} {}, which isn't the same one elsewhere", nameOf(ids), tree));
            break;
    }
}

void CheckpointComparison::compareInventories() {
    const CheckpointItem* const image = imageItems_.one(ImageKind::Inventory);
    const CheckpointItem* const tree = treeItems_.one(ImageKind::Inventory);
    if (image == nullptr || tree == nullptr)
        fail("the images have no {}", imageName(ImageKind::Inventory));
    image->compared = tree->compared = true;
    const Place place{"", "inventory"};
    compareMessages(*image->message, *tree->message, place, "", *this);
    const TaskKobjIdsEntry* const before = recordOf<InventoryEntry>(*image).root_ids;
    const TaskKobjIdsEntry* const now = recordOf<InventoryEntry>(*tree).root_ids;
    if (before == nullptr || now == nullptr)
        return;
    // Namespaces of criu: a process that shared them with criu must share them again. A restore puts the tree into a
    // new time namespace, so that its clocks go on.
    for (const MessageField& field : fieldsOf(before->base)) {
        const std::string_view name = field.name;
        if (!name.ends_with("_ns_id") || name.starts_with("time_"))
            continue;
        const auto own = numberIn(before->base, name);
        const auto other = numberIn(now->base, name);
        if (own && other)
            relate(IdClass::Namespace, *own, *other, place, std::string(name));
    }
}

void CheckpointComparison::compareProcesses() {
    for (const auto& [pid, item] : before_.byPid) {
        checkStop_();
        if (now_.byPid.contains(pid))
            compareProcess(pid);
        else
            differs({before_.nameOf(pid), ""}, "", std::string(kPresent), std::string(kAbsent));
    }
    for (const auto& [pid, item] : now_.byPid)
        if (!before_.byPid.contains(pid))
            differs({now_.nameOf(pid), ""}, "", std::string(kAbsent), std::string(kPresent));
}

void CheckpointComparison::compareOf(ImageKind kind, std::uint32_t pid, const Place& place) {
    compareItems(kind, imageItems_.of(kind, pid), treeItems_.of(kind, pid), place);
}

void CheckpointComparison::compareProcess(std::uint32_t pid) {
    const Place place{before_.nameOf(pid), ""};
    const CheckpointItem& image = *before_.byPid.at(pid);
    const CheckpointItem& tree = *now_.byPid.at(pid);
    image.compared = tree.compared = true;
    compareMessages(*image.message, *tree.message, place, "", *this);
    compareOf(ImageKind::Ids, pid, place);
    compareThreads(pid, place);
    compareOf(ImageKind::Fs, pid, place);
    compareAddressSpaces(pid, place);
}

void CheckpointComparison::compareThreads(std::uint32_t pid, const Place& place) {
    const auto threadsOf = [pid](const Processes& processes) {
        const auto& entry = recordOf<PstreeEntry>(*processes.byPid.at(pid));
        const std::span listed(entry.threads, entry.n_threads);
        return std::set<std::uint32_t>(listed.begin(), listed.end());
    };
    const std::set<std::uint32_t> image = threadsOf(before_);
    const std::set<std::uint32_t> tree = threadsOf(now_);
    for (const std::uint32_t tid : image) {
        const Place thread = tid == pid ? place : place.within(fmt::format("thread {}", tid));
        if (tree.contains(tid))
            compareOf(ImageKind::Core, tid, thread);
        else
            differs(thread, "", std::string(kPresent), std::string(kAbsent));
    }
    for (const std::uint32_t tid : tree)
        if (!image.contains(tid))
            differs(place.within(fmt::format("thread {}", tid)), "", std::string(kAbsent), std::string(kPresent));
}

void CheckpointComparison::compareAddressSpaces(std::uint32_t pid, const Place& place) {
    const CheckpointItem* const image = imageItems_.one(ImageKind::Mm, pid);
    const CheckpointItem* const tree = treeItems_.one(ImageKind::Mm, pid);
    if (image == nullptr || tree == nullptr) {
        compareOf(ImageKind::Mm, pid, place);
        return;
    }
    image->compared = tree->compared = true;
    MappingList before(recordOf<MmEntry>(*image));
    MappingList now(recordOf<MmEntry>(*tree));
    splitAlike(before, now);
    compareMessages(before.memory().base, now.memory().base, place, "", *this);
    const auto object = memory::MemoryObject::process(TreePid(static_cast<pid_t>(pid)));
    const std::vector<KernelBytes> kernelBytes = kernelBytesOf(pid);
    for (const VmaEntry& vma : before.mappings())
        if (memory::hasPrivatePages(vma) && now.has(vma))
            compareMemory(object, object,
                          {vma.start, vma.start, vma.end - vma.start, memory::is(vma, memory::VmaStatus::FilePrivate),
                           kernelBytes},
                          place.within(fmt::format("memory {:#x}", vma.start)));
}

/// Returns the bytes of registered rseq areas in which the kernel stores the processor and the NUMA node of a thread.
std::vector<KernelBytes> CheckpointComparison::kernelBytesOf(std::uint32_t pid) const {
    constexpr KernelBytes kProcessor{offsetof(struct rseq, cpu_id_start), 8};  // cpu_id_start and cpu_id
    constexpr KernelBytes kNode{20, 8};                                        // node_id and mm_cid (Linux 6.3)
    std::vector<KernelBytes> all;
    const auto& entry = recordOf<PstreeEntry>(*before_.byPid.at(pid));
    for (const std::uint32_t tid : std::span(entry.threads, entry.n_threads)) {
        const CoreEntry* const core = before_.core(tid);
        if (core == nullptr || core->thread_core == nullptr || core->thread_core->rseq_entry == nullptr)
            continue;
        const RseqEntry& area = *core->thread_core->rseq_entry;
        for (const KernelBytes& part : {kProcessor, kNode})
            if (part.address < area.rseq_abi_size)
                all.push_back({area.rseq_abi_pointer + part.address, part.size});
    }
    return all;
}

void CheckpointComparison::compareMemory(const memory::MemoryObject& image, const memory::MemoryObject& tree,
                                         const ComparedRange& range, const Place& place) {
    memory_.compare(image, tree, range, [&](const DifferingBytes& bytes) {
        const std::string pages =
            fmt::format("{} pages from {:#x} on", (bytes.size + kImagePageSize - 1) / kImagePageSize, bytes.pages);
        switch (bytes.cause) {
            case DifferingBytes::Cause::Content:
                differs(place,
                        fmt::format("{} of the bytes in {}, first the one at {:#x}", bytes.count, pages, bytes.first),
                        fmt::format("{:#04x}", bytes.image), fmt::format("{:#04x}", bytes.tree));
                break;
            case DifferingBytes::Cause::OnlyInImage:
                differs(place, pages, "changed", "as in the mapped file");
                break;
            case DifferingBytes::Cause::OnlyInTree:
                differs(place, pages, "as in the mapped file", "changed");
                break;
        }
    });
}

void CheckpointComparison::comparePending() {
    while (!pending_.empty()) {
        checkStop_();
        const Pending next = std::move(pending_.front());
        pending_.pop_front();
        compareObject(next);
    }
}

/// Relates the slaves of two masters. If a slave is closed, only its unread bytes in tty-data.img have its id.
void CheckpointComparison::relateSlave(const Pending& pending) {
    constexpr std::uint32_t kMasterDevice = 0x502;  // major 5, minor 2 (/dev/ptmx)
    const auto isMaster = [](const CheckpointItems& items, std::uint64_t id) {
        const auto found = items.of(IdClass::Terminal, id);
        const auto info = found.find(ImageKind::TtyInfo);
        return info != found.end() && recordOf<TtyInfoEntry>(*info->second.front()).rdev == kMasterDevice;
    };
    if (isMaster(imageItems_, pending.image) && isMaster(treeItems_, pending.tree))
        relate(IdClass::Terminal, pending.image - 1, pending.tree - 1, pending.place, "slave");
}

Place CheckpointComparison::placeOf(const Pending& pending, ImageKind kind) {
    switch (pending.ids) {
        case IdClass::Namespace:
        case IdClass::FileSystem:
            return {"", std::string(shortName(kind))};
        case IdClass::File:
        case IdClass::Descriptors:
            return kind == ImageKind::Files || kind == ImageKind::Fdinfo ? pending.place
                                                                         : pending.place.within(shortName(kind));
        default:
            return pending.place.within(shortName(kind));
    }
}

void CheckpointComparison::compareObject(const Pending& pending) {
    auto image = imageItems_.of(pending.ids, pending.image);
    auto tree = treeItems_.of(pending.ids, pending.tree);
    std::set<ImageKind> kinds;
    for (const auto& [kind, items] : image)
        kinds.insert(kind);
    for (const auto& [kind, items] : tree)
        kinds.insert(kind);
    kinds.erase(ImageKind::TmpfsFiles);  // compareFiles() compares these contents with the archives
    for (const ImageKind kind : kinds)
        compareItems(kind, image[kind], tree[kind], placeOf(pending, kind));
    if (pending.ids == IdClass::Terminal)
        relateSlave(pending);
    if (pending.ids == IdClass::SharedMemory) {
        const auto before = memory::MemoryObject::shared(pending.image);
        const auto now = memory::MemoryObject::shared(pending.tree);
        compareMemory(before, now, {0, 0, memory_.endOf(before, now), false}, pending.place.within("shared memory"));
    }
}

void CheckpointComparison::compareItems(ImageKind kind, const CheckpointItemList& image, const CheckpointItemList& tree,
                                        const Place& place) {
    if (hasKeys(kind)) {
        compareLists(messagesOf(image), messagesOf(tree), place, std::string(shortName(kind)), *this);
        return;
    }
    for (std::size_t i = 0; i < std::max(image.size(), tree.size()); ++i) {
        if (i < image.size())
            image[i]->compared = true;
        if (i < tree.size())
            tree[i]->compared = true;
        const Place record =
            std::max(image.size(), tree.size()) == 1 ? place : place.within(fmt::format("number {}", i + 1));
        if (i >= image.size() || i >= tree.size()) {
            differs(record, "", std::string(i < image.size() ? kPresent : kAbsent),
                    std::string(i < tree.size() ? kPresent : kAbsent));
            continue;
        }
        const CheckpointItem& before = *image[i];
        const CheckpointItem& now = *tree[i];
        if (before.message == nullptr) {
            compareFiles(before, now, record);
            continue;
        }
        compareMessages(*before.message, *now.message, record, "", *this);
        const auto first = std::ranges::mismatch(before.payload, now.payload);
        if (first.in1 != before.payload.end() || first.in2 != now.payload.end()) {
            const auto text = [](const auto& at, const auto& end) {
                return at == end ? std::string("the end") : fmt::format("{:#04x}", static_cast<unsigned>(*at));
            };
            differs(record, fmt::format("content at byte {}", first.in1 - before.payload.begin()),
                    text(first.in1, before.payload.end()), text(first.in2, now.payload.end()));
        }
    }
}

/// Returns the parts of an image without records. `files`: contents of a tmpfs that are stored apart.
RawParts CheckpointComparison::partsOf(const CheckpointItems& items, const memory::PageSources& pages,
                                       const CheckpointItem& item) const {
    const auto file = items.images().openRaw(item.kind, item.number, O_RDONLY);
    if (!file)
        fail("{} has vanished", imageName(item.kind, item.number));
    if (item.kind == ImageKind::TmpfsDev)
        return partsOfArchive(file->get(), contentsApart(items, pages, item.number));
    const std::string bytes = readAll(file->get());
    switch (item.kind) {
        case ImageKind::Ifaddr:
        case ImageKind::Route:
        case ImageKind::Route6:
        case ImageKind::Rule:
            return partsOfNetlink(bytes, true);
        case ImageKind::Conntrack:
        case ImageKind::ConntrackExpect:
            return partsOfNetlink(bytes, false);
        case ImageKind::Iptables:
        case ImageKind::Ip6tables:
        case ImageKind::Nftables:
            return partsOfFilter(bytes);
        default:
            return {{"content", bytes}};
    }
}

/// Returns the contents that pages images store instead of the archive of a tmpfs.
std::map<std::string, ContentApart> CheckpointComparison::contentsApart(const CheckpointItems& items,
                                                                        const memory::PageSources& pages,
                                                                        std::uint64_t device) const {
    std::map<std::string, ContentApart> contents;
    for (const CheckpointItem* const item : items.of(ImageKind::TmpfsFiles, device)) {
        checkStop_();
        item->compared = true;
        const auto& file = recordOf<TmpfsFileEntry>(*item);
        contents.emplace(file.path,
                         ContentApart{file.size, file.modified,
                                      hashPages(pages, memory::MemoryObject::files(device), file.start, file.size)});
    }
    return contents;
}

void CheckpointComparison::compareFiles(const CheckpointItem& image, const CheckpointItem& tree, const Place& place) {
    RawParts before = partsOf(imageItems_, imagePages_, image);
    RawParts now = partsOf(treeItems_, treePages_, tree);
    for (const auto& [name, text] : before) {
        const auto partner = now.find(name);
        if (partner == now.end()) {
            differs(place.within(name), "", std::string(kPresent), std::string(kAbsent));
            continue;
        }
        if (partner->second != text)
            differs(place.within(name), "", text, partner->second);
        now.erase(partner);
    }
    for (const auto& [name, text] : now)
        differs(place.within(name), "", std::string(kAbsent), std::string(kPresent));
}

void CheckpointComparison::compareWholes() {
    std::set<std::pair<ImageKind, std::uint64_t>> images;
    for (const CheckpointItems* const items : {&imageItems_, &treeItems_})
        for (const CheckpointItem* const item : items->all())
            if (searchOf(item->kind) == ItemSearch::Whole && !item->id && item->kind != ImageKind::Inventory)
                images.emplace(item->kind, item->number);
    const auto wholeOf = [](const CheckpointItems& items, ImageKind kind, std::uint64_t number) {
        CheckpointItemList list = items.of(kind, number);
        std::erase_if(list, [](const CheckpointItem* item) { return item->id.has_value(); });
        return list;
    };
    for (const auto& [kind, number] : images)
        compareItems(kind, wholeOf(imageItems_, kind, number), wholeOf(treeItems_, kind, number),
                     {"", std::string(shortName(kind))});
}

/// Tells records that no id has reached.
void CheckpointComparison::compareRest() {
    const auto tell = [this](const CheckpointItems& items, bool ofImage) {
        for (const CheckpointItem* const item : items.all()) {
            if (item->compared || searchOf(item->kind) == ItemSearch::Process)
                continue;
            // criu's own cgroup set is no state of the tree.
            if (item->kind == ImageKind::Cgroup || item->kind == ImageKind::Inventory)
                continue;
            const std::string id = item->id ? fmt::format(" {}", item->id->number) : std::string();
            differs({"", fmt::format("{}{}", shortName(item->kind), id)}, "", std::string(ofImage ? kPresent : kAbsent),
                    std::string(ofImage ? kAbsent : kPresent));
        }
    };
    tell(imageItems_, true);
    tell(treeItems_, false);
}

void CheckpointComparison::compareUnknown() {
    for (const std::string& name : imageItems_.unknown())
        differences_.uncompared.push_back(fmt::format("{}: this criu doesn't know images of this kind", name));
}

void CheckpointComparison::run() {
    compareInventories();
    compareProcesses();
    comparePending();
    compareWholes();
    comparePending();
    compareRest();
    compareUnknown();
}

}  // namespace

Differences compareCheckpoints(const ImageDir& image, const ImageDir& tree, const std::function<void()>& checkStop) {
    CheckpointComparison comparison(image, tree, checkStop);
    comparison.run();
    return comparison.take();
}

}  // namespace criu::engine
