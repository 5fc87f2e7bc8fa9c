// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "criu/base/buffer_pool.hpp"
#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/encrypted_format.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/stream_format.hpp"
#include "images/encryption.hpp"

namespace criu {
namespace {

using crypto::kTagSize;
using CheckStop = std::function<void()>;
using Entry = Record<EncryptedFileEntry>;

struct OpenEncrypted {
    UniqueFd file;
    std::uint64_t size = 0;
};

OpenEncrypted openEncrypted(const ImageDir& images, ImageKind kind, std::uint64_t number, const std::string& what) {
    OpenEncrypted opened;
    auto file = images.openRaw(kind, number, O_RDONLY);
    if (!file)
        failWith(ENOENT, "open {}, which the dump has written", what);
    opened.file = std::move(*file);
    struct stat status {};
    sys(::fstat(opened.file.get(), &status), "look at {}", what);
    opened.size = static_cast<std::uint64_t>(std::max<off_t>(status.st_size, 0));
    return opened;
}

[[noreturn]] void damaged(const std::string& what, std::size_t bytes, std::uint64_t place) {
    fail("{}: the {} bytes at offset {:#x} don't decrypt: they are damaged, changed, or of another dump", what, bytes,
         place);
}

void requireHead(const OpenEncrypted& opened, const std::string& what) {
    auto head = encrypted::head();
    if (opened.size < head.size() + kTagSize)
        fail("{}: it has only {} bytes: its end is missing", what, opened.size);
    readAt(opened.file.get(), head, 0);
    if (head != encrypted::head())
        damaged(what, head.size(), 0);
}

/// Decrypts the list of files into a memfd. The memfd then contains one image.
UniqueFd decryptList(const ImageDir& images, ImageKind kind, const DumpKey& key, const std::string& what) {
    const OpenEncrypted opened = openEncrypted(images, kind, encrypted::kListFile, what);
    requireHead(opened, what);
    const crypto::SecretBytes fileKey = key.ofFile(encrypted::kListFile, true);
    UniqueFd list(sys(::memfd_create("criu-list", MFD_CLOEXEC), "make a file in memory"));
    std::vector<std::byte> sealed(kEncryptedBlock + kTagSize);
    std::vector<std::byte> plain(kEncryptedBlock);
    std::uint64_t place = encrypted::head().size();
    std::uint64_t written = 0;
    for (std::uint64_t number = 0; place < opened.size; ++number) {
        const std::size_t size = std::min<std::uint64_t>(sealed.size(), opened.size - place);
        const std::span<std::byte> block(sealed.data(), size);
        readAt(opened.file.get(), block, place);
        const bool last = place + size == opened.size;
        if (size < kTagSize || !key.ciphers().open(fileKey.bytes(), {number, last ? encrypted::kLastOfList : 0}, {},
                                                   block, std::span(plain).first(size - kTagSize)))
            damaged(what, size, place);
        writeAt(list.get(), std::span(plain).first(size - kTagSize), written);
        place += size;
        written += size - kTagSize;
    }
    return list;
}

/// Throws Error if blocks of a file overlap. Threads decrypt blocks in any order, so it would be undefined which block
/// determines the content of an overlap.
void requireNoBlockOverlap(const EncryptedFileEntry& entry) {
    std::vector<std::size_t> order(entry.n_sizes);
    std::iota(order.begin(), order.end(), std::size_t{});
    std::sort(order.begin(), order.end(),
              [&entry](std::size_t a, std::size_t b) { return entry.offsets[a] < entry.offsets[b]; });
    for (std::size_t i = 1; i < order.size(); ++i)
        if (entry.offsets[order[i]] - entry.offsets[order[i - 1]] < entry.sizes[order[i - 1]])
            fail("two blocks are at {:#x}", entry.offsets[order[i]]);
}

void requireGood(const EncryptedFileEntry& entry, std::set<std::string, std::less<>>& names, const std::string& list) {
    if (!stream::isFileName(entry.name) || !names.insert(entry.name).second)
        fail("{}: \"{}\" is no name of an image, or is there twice", list, entry.name);
    const ErrorContext context([&] { return fmt::format("{}: {}", list, entry.name); });
    if (entry.n_offsets != entry.n_sizes)
        fail("{} blocks have a place, and {} a size", entry.n_offsets, entry.n_sizes);
    if (entry.size > stream::kLongestFile)
        fail("{} bytes are more than a file has", entry.size);
    for (std::size_t i = 0; i < entry.n_sizes; ++i)
        if (entry.sizes[i] == 0 || entry.sizes[i] > kEncryptedBlock || entry.offsets[i] > entry.size ||
            entry.sizes[i] > entry.size - entry.offsets[i])
            fail("a block of {} bytes is at {:#x} of {}", entry.sizes[i], entry.offsets[i], entry.size);
    requireNoBlockOverlap(entry);
}

/// Throws Error if the directory contains an image that the dump didn't write. Allows cpuinfo.img from `criu cpuinfo
/// dump`, because a restore of encrypted images doesn't read it. Allows files of another encrypted set. `files`: number
/// of listed files.
void requireNoOthers(const ImageDir& images, std::size_t files, const EncryptedSet& set, const DumpKey& key) {
    std::set<std::string> known{imageName(ImageKind::Inventory), imageName(set.head), imageName(ImageKind::Signature),
                                imageName(ImageKind::Cpuinfo)};
    for (std::uint64_t number = 0; number <= files; ++number)
        known.insert(imageName(set.files, number));
    const bool ofPages = set.files == kPagesSet.files;
    const EncryptedSet& other = ofPages ? kDumpSet : kPagesSet;
    const auto isOthers = [&](const std::string& name) {
        const auto kind = imageKindOf(name);
        return (ofPages || key.bonds().pagesApart) && (kind == other.head || kind == other.files);
    };
    for (const std::string& name : namesIn(images))
        if (name.ends_with(".img") && !known.contains(name) && !isOthers(name))
            fail("{}/{}: it isn't of this dump, whose images are encrypted", images.name(), name);
}

/// Consecutive blocks of an encrypted file that one thread reads in one step.
struct Part {
    std::size_t first = 0;
    std::size_t count = 0;
    std::uint64_t place = 0;
    std::size_t bytes = 0;
};

/// Splits the blocks of a file into parts that fit into a buffer. Returns at least one part, even for a file without
/// blocks.
std::vector<Part> partsOf(const EncryptedFileEntry& entry) {
    std::vector<Part> all{{0, 0, encrypted::head().size(), 0}};
    for (std::size_t i = 0; i < entry.n_sizes; ++i) {
        const std::size_t bytes = entry.sizes[i] + kTagSize;
        if (all.back().bytes + bytes > kEncryptedBlock + kTagSize)
            all.push_back({i, 0, all.back().place + all.back().bytes, 0});
        ++all.back().count;
        all.back().bytes += bytes;
    }
    return all;
}

/// File whose blocks several threads decrypt.
class Decrypting {
public:
    /// `into`: directory for the decrypted file; null to store nothing. `wanted`: true if the caller will call
    /// decrypt().
    Decrypting(const ImageDir& images, ImageKind kind, const DumpKey& key, const ImageDir* into, std::uint64_t number,
               const EncryptedFileEntry& entry, bool wanted)
        : images_(images),
          kind_(kind),
          into_(into),
          key_(key),
          fileKey_(wanted ? key.ofFile(number, isRecord(entry.name)) : crypto::SecretBytes(0)),
          number_(number),
          entry_(entry),
          parts_(partsOf(entry)),
          what_(fmt::format("{}/{} ({})", images.name(), imageName(kind, number), entry.name)) {}

    [[nodiscard]] const std::vector<Part>& parts() const noexcept { return parts_; }

    /// Opens the file. Throws Error if it is missing, or if its size isn't the size in the list.
    void look() {
        std::call_once(opened_, [this] { open(); });
    }

    /// Decrypts a part of the file. Stores the result if the constructor got a directory for it. Any thread may call
    /// this function.
    void decrypt(const Part& part, std::span<std::byte> sealed, std::span<std::byte> plain,
                 const CheckStop& checkStop) {
        look();
        readAt(file_.get(), sealed.first(part.bytes), part.place);
        std::size_t done = 0;
        for (std::size_t i = part.first; i < part.first + part.count; ++i) {
            checkStop();
            const std::size_t size = entry_.sizes[i];
            if (!key_.ciphers().open(fileKey_.bytes(), {i, 0}, encrypted::placeOf(entry_.offsets[i]),
                                     sealed.subspan(done, size + kTagSize), plain.first(size)))
                damaged(what_, size + kTagSize, part.place + done);
            if (into_ != nullptr)
                store(plain.first(size), entry_.offsets[i]);
            done += size + kTagSize;
        }
    }

private:
    void open() {
        OpenEncrypted opened = openEncrypted(images_, kind_, number_, what_);
        const std::uint64_t end = parts_.back().place + parts_.back().bytes;
        if (opened.size != end)
            fail("{}: it has {} bytes, but {} were written", what_, opened.size, end);
        auto head = encrypted::head();
        readAt(opened.file.get(), head, 0);
        if (head != encrypted::head())
            damaged(what_, head.size(), 0);
        file_ = std::move(opened.file);
        if (into_ == nullptr)
            return;
        if (into_->openNamed(entry_.name, O_RDONLY))
            fail("{}: {} is there twice", what_, entry_.name);
        plain_ = into_->createNamed(entry_.name);
        sys(::ftruncate(plain_.get(), static_cast<off_t>(entry_.size)), "size {} to {} bytes", entry_.name,
            entry_.size);
    }

    void store(std::span<const std::byte> plain, std::uint64_t offset) const {
        try {
            writeAt(plain_.get(), plain, offset);
        } catch (Error& error) {
            if (error.code() == ENOSPC)
                error.addHint("decrypted images are held in memory until they are restored: raise --stream-memory");
            throw;
        }
    }

    const ImageDir& images_;
    const ImageKind kind_;
    const ImageDir* const into_;  ///< directory for the decrypted file; null to store nothing
    const DumpKey& key_;
    const crypto::SecretBytes fileKey_;
    const std::uint64_t number_;
    const EncryptedFileEntry& entry_;
    const std::vector<Part> parts_;
    const std::string what_;
    std::once_flag opened_;
    UniqueFd file_;
    UniqueFd plain_;
};

}  // namespace

DecryptedAmounts decryptImages(const ImageDir& images, const DumpKey& key, const ImageDir* into,
                               const CheckStop& checkStop, DecryptedPart part, const EncryptedSet& set) {
    const std::string list = fmt::format("{}/{}", images.name(), imageName(set.files, encrypted::kListFile));
    ImageReader reader(decryptList(images, set.files, key, list), set.files, list);
    if (images.isDistrusted())
        reader.requireCanonical();
    const std::vector<Entry> entries = reader.all<EncryptedFileEntry>();
    std::set<std::string, std::less<>> names;
    DecryptedAmounts amounts;
    for (const Entry& entry : entries) {
        requireGood(*entry, names, list);
        amounts.bytes += entry->size;
    }
    amounts.files = entries.size();
    requireNoOthers(images, entries.size(), set, key);

    BufferPool sealed(kEncryptedBlock + kTagSize);
    BufferPool plain(kEncryptedBlock);
    // Declared after the other variables: its destructor ends the threads that use them.
    ThreadPool pool(availableCores());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const bool wanted = part == DecryptedPart::All || isRecord(entries[i]->name);
        const auto file =
            std::make_shared<Decrypting>(images, set.files, key, wanted ? into : nullptr, i + 1, *entries[i], wanted);
        if (!wanted) {
            file->look();
            continue;
        }
        for (const Part& piece : file->parts())
            pool.submit([file, piece, &sealed, &plain, &checkStop] {
                BufferPool::Use from(sealed);
                BufferPool::Use to(plain);
                file->decrypt(piece, from.first(kEncryptedBlock + kTagSize), to.first(kEncryptedBlock), checkStop);
            });
    }
    pool.wait();
    return amounts;
}

}  // namespace criu
