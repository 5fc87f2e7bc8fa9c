// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/checksum_list.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/written_sums.hpp"
#include "images/checksums.hpp"
#include "images/inventory.hpp"

namespace criu {
namespace {

using CheckStop = std::function<void()>;

/// Bytes of one read(2).
constexpr std::size_t kReadBuffer = std::size_t{1} << 20;
/// Number of files above which several threads are faster than one thread. kManyBytes is the limit in bytes.
constexpr std::size_t kManyFiles = 256;
constexpr std::uint64_t kManyBytes = std::uint64_t{16} << 20;

/// Reads a file and calls `use` for pieces of kReadBuffer bytes; the last piece may be shorter.
template <typename Use>
void readAll(int file, const std::string& name, const CheckStop& checkStop, Use&& use) {
    struct stat status {};
    sys(::fstat(file, &status), "{}: fstat", name);
    const auto size = static_cast<std::size_t>(std::max<off_t>(status.st_size, 0));
    // The buffer for a small file is one byte larger than the file, so one pass of the loop finds the end of the file.
    std::vector<std::byte> buffer(std::min(size + 1, kReadBuffer));
    for (;;) {
        checkStop();
        std::size_t filled = 0;
        while (filled < buffer.size()) {
            const ssize_t got = ::read(file, buffer.data() + filled, buffer.size() - filled);
            if (got < 0 && errno == EINTR)
                continue;
            sys(got, "{}: read", name);
            if (got == 0)
                break;
            filled += static_cast<std::size_t>(got);
        }
        use(std::span<const std::byte>(buffer).first(filled));
        if (filled < buffer.size())
            return;
    }
}

/// Calls `work` with each number below `count`. If `many` is true, threads on all processors make the calls.
void forEach(std::size_t count, bool many, const std::function<void(std::size_t)>& work) {
    if (!many || count < 2 || availableCores() < 2) {
        for (std::size_t index = 0; index < count; ++index)
            work(index);
        return;
    }
    constexpr std::size_t kTogether = 16;
    ThreadPool pool(static_cast<unsigned>(std::min<std::size_t>(availableCores(), count)));
    const std::size_t step = count >= kManyFiles ? kTogether : 1;
    for (std::size_t first = 0; first < count; first += step)
        pool.submit([&work, first, end = std::min(first + step, count)] {
            for (std::size_t index = first; index < end; ++index)
                work(index);
        });
    pool.wait();
}

FileSum sumOf(const ImageDir& images, const Checksum& checksum, const std::string& name, const CheckStop& checkStop) {
    const auto file = images.openNamed(name, O_RDONLY);
    if (!file)
        failWith(ENOENT, "open {} in {}", name, images.name());
    FileSumming summing(checksum);
    readAll(file->get(), name, checkStop, [&](std::span<const std::byte> bytes) { summing.add(bytes); });
    return summing.finish(name);
}

/// Returns true if a list of checksums contains the file. Lists contain no pages files. They contain no inventory,
/// because a dump writes it after the list. `drivers`: true if device drivers have stored files, whose names aren't in
/// the catalogue.
bool isListed(const std::string& name, bool drivers) {
    const auto kind = imageKindOf(name);
    if (!kind)
        return drivers && name.ends_with(".img");
    switch (*kind) {
        case ImageKind::Inventory:
        case ImageKind::Checksums:
        case ImageKind::Pages:
        case ImageKind::StatsDump:
        case ImageKind::StatsRestore:
        case ImageKind::IrmapCache:
            return false;
        default:
            return true;
    }
}

/// Returns the checksums of all listed files of a dump. Reads only files that another program wrote: archives, and
/// files of device drivers and helper programs. For all other files, returns the checksums in `written`.
std::vector<FileSum> sumsOfDump(const ImageDir& images, const WrittenSums& written, bool drivers,
                                const CheckStop& checkStop) {
    std::vector<std::string> names = namesIn(images);
    std::erase_if(names, [drivers](const std::string& name) { return !isListed(name, drivers); });
    std::sort(names.begin(), names.end());
    std::vector<FileSum> files(names.size());
    std::vector<std::size_t> unknown;
    for (std::size_t index = 0; index < names.size(); ++index) {
        if (auto file = written.find(names[index]))
            files[index] = std::move(*file);
        else
            unknown.push_back(index);
    }
    forEach(unknown.size(), true, [&](std::size_t number) {
        const std::size_t index = unknown[number];
        files[index] = sumOf(images, written.checksum(), names[index], checkStop);
    });
    return files;
}

ChecksumsEntry entryOf(const FileSum& file) {
    ChecksumsEntry entry = CHECKSUMS_ENTRY__INIT;
    entry.name = const_cast<char*>(file.name.c_str());
    entry.size = file.size;
    entry.n_pieces = file.pieces.size();
    entry.pieces = const_cast<std::uint32_t*>(file.pieces.data());
    return entry;
}

/// Returns the checksum of a list. It covers the name of each file, a zero byte, the size and the checksums.
std::uint32_t sumOf(std::span<const FileSum> files, const Checksum& checksum) {
    std::vector<std::byte> all;
    const auto append = [&all](const void* data, std::size_t size) {
        const auto* const bytes = static_cast<const std::byte*>(data);
        all.insert(all.end(), bytes, bytes + size);
    };
    for (const FileSum& file : files) {
        append(file.name.c_str(), file.name.size() + 1);
        append(&file.size, sizeof(file.size));
        append(file.pieces.data(), file.pieces.size() * sizeof(file.pieces.front()));
    }
    return checksum.of(all);
}

/// Reads and checks a list of checksums. Throws Error if the list is damaged.
std::vector<FileSum> readList(ImageReader list, const Checksum& checksum) {
    const auto head = list.one<ChecksumsHead>();
    if (head->kind != kXxh3Checksum)
        fail("{}: checksums of a kind that this criu doesn't know: {}", list.name(), head->kind);
    std::vector<FileSum> files;
    while (const auto entry = list.next<ChecksumsEntry>()) {
        FileSum file{(*entry)->name, (*entry)->size, {}};
        file.pieces.assign((*entry)->pieces, (*entry)->pieces + (*entry)->n_pieces);
        if (file.name.empty() || file.name.find('/') != std::string::npos)
            fail("{}: \"{}\" is no name of an image", list.name(), file.name);
        if (file.pieces.size() != file.size / kChecksumPiece + (file.size % kChecksumPiece != 0 ? 1 : 0))
            fail("{}: {} checksums of {}, which has {} bytes", list.name(), file.pieces.size(), file.name, file.size);
        files.push_back(std::move(file));
    }
    if (sumOf(files, checksum) != head->entries)
        fail("{}: it is damaged: its own checksum doesn't match", list.name());
    return files;
}

/// Compares one file with its checksums. Returns a description of the damage; empty if the file is undamaged.
std::string damageOf(const ImageDir& images, const FileSum& file, const Checksum& checksum,
                     const CheckStop& checkStop) {
    const std::string name = fmt::format("{}/{}", images.name(), file.name);
    const auto there = images.openNamed(file.name, O_RDONLY);
    if (!there)
        return fmt::format("{}: it isn't there, but was written", name);
    std::uint64_t size = 0;
    std::string damage;
    readAll(there->get(), name, checkStop, [&](std::span<const std::byte> bytes) {
        for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kChecksumPiece))) {
            const auto piece = bytes.first(std::min(bytes.size(), kChecksumPiece));
            const std::uint64_t index = size / kChecksumPiece;
            if (damage.empty() && (index >= file.pieces.size() || checksum.of(piece) != file.pieces[index]))
                damage = fmt::format("{}: the {} bytes at offset {:#x} are damaged: their checksum doesn't match", name,
                                     piece.size(), size);
            size += piece.size();
        }
    });
    if (size != file.size)
        return fmt::format("{}: it has {} bytes, but {} were written", name, size, file.size);
    return damage;
}

/// Throws Error if the inventory names a list of checksums and this list is missing.
void requireList(const ImageDir& images) {
    auto image = images.openRead(ImageKind::Inventory);
    if (!image)
        return;
    const auto inventory = image->only<InventoryEntry>();
    if (inventory->has_checksums != 0 && !images.exists(ImageKind::Checksums, inventory->checksums))
        failWith(ENOENT, "open {} in {}, which its inventory names",
                 imageName(ImageKind::Checksums, inventory->checksums), images.name());
}

}  // namespace

void writeChecksums(const ImageDir& images, ChecksumList list, std::span<const FileSum> files) {
    ImageWriter image = images.create(ImageKind::Checksums, static_cast<std::uint64_t>(list));
    ChecksumsHead head = CHECKSUMS_HEAD__INIT;
    head.kind = kXxh3Checksum;
    head.entries = sumOf(files, images.sums()->checksum());
    image.write(head);
    for (const FileSum& file : files)
        image.write(entryOf(file));
    image.finish();
}

void completeImages(const ImageDir& images, InventoryEntry& inventory, const CheckStop& checkStop) {
    if (const WrittenSums* const written = images.sums()) {
        inventory.has_checksums = 1;
        inventory.checksums = static_cast<std::uint32_t>(ChecksumList::OfDump);
        const bool drivers = inventory.plugins_entry != nullptr && inventory.plugins_entry->n_plugins != 0;
        std::vector<FileSum> files = sumsOfDump(images, *written, drivers, checkStop);
        FileSumming summing(written->checksum());
        summing.add(imageOf(ImageKind::Inventory, inventory.base));
        files.push_back(summing.finish(imageName(ImageKind::Inventory)));
        writeChecksums(images, ChecksumList::OfDump, files);
    }
    ImageWriter image = images.create(ImageKind::Inventory);
    image.write(inventory);
    image.finish();
}

ChecksumCheck::ChecksumCheck(const ImageDir& images, const Damaged& damaged, const CheckStop& checkStop) {
    std::optional<Checksum> checksum;
    std::vector<FileSum> files;
    for (const ChecksumList list : {ChecksumList::OfDump, ChecksumList::OfPageServer}) {
        auto image = images.openRead(ImageKind::Checksums, static_cast<std::uint64_t>(list));
        if (!image)
            continue;
        if (!checksum)
            checksum.emplace();
        std::vector<FileSum> listed = readList(std::move(*image), *checksum);
        files.insert(files.end(), std::make_move_iterator(listed.begin()), std::make_move_iterator(listed.end()));
    }
    files_ = files.size();
    for (const FileSum& file : files)
        bytes_ += file.size;
    forEach(files.size(), files.size() >= kManyFiles || bytes_ >= kManyBytes, [&](std::size_t index) {
        if (const std::string damage = damageOf(images, files[index], *checksum, checkStop); !damage.empty())
            damaged(damage);
    });
    requireList(images);
}

void requireUndamaged(const ImageDir& images, const CheckStop& checkStop) {
    for (const ImageDir* dir = &images; dir != nullptr; dir = dir->parent())
        ChecksumCheck(
            *dir,
            [](const std::string& damage) {
                Error error(0, damage);
                error.addHint("restore it from a copy; --no-checksum takes images as they are");
                throw error;
            },
            checkStop);
}

}  // namespace criu
