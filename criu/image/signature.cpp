// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/signature.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "criu/base/buffer_pool.hpp"
#include "criu/base/error.hpp"
#include "criu/base/thread_pool.hpp"
#include "criu/base/whole_io.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "images/encryption.hpp"

namespace criu {
namespace {

using CheckStop = std::function<void()>;
using crypto::Hash;

constexpr std::uint32_t kVersion = 1;
/// Of which each has a hash, so that several threads work on one file.
constexpr std::size_t kPiece = std::size_t{1} << 20;

struct HashedFile {
    std::string name;
    std::uint64_t size = 0;
    std::vector<Hash> pieces;  ///< of each kPiece bytes
};

/// Names of what is signed, in their order.
std::vector<std::string> signedNames(const ImageDir& images) {
    std::vector<std::string> names = namesIn(images);
    const std::string own = imageName(ImageKind::Signature);
    std::erase_if(names, [&own](const std::string& name) { return !name.ends_with(".img") || name == own; });
    std::sort(names.begin(), names.end());
    return names;
}

/// A file that lies there.
struct PresentFile {
    std::string name;
    std::uint64_t size = 0;

    [[nodiscard]] std::size_t pieces() const noexcept { return size / kPiece + (size % kPiece != 0 ? 1 : 0); }
};

PresentFile presentFile(const ImageDir& images, const std::string& name) {
    const auto file = images.openNamed(name, O_RDONLY);
    if (!file)
        failWith(ENOENT, "open {} in {}", name, images.name());
    struct stat status {};
    sys(::fstat(file->get(), &status), "look at {}", name);
    if (!S_ISREG(status.st_mode))
        fail("{}/{} isn't a regular file", images.name(), name);
    return {name, static_cast<std::uint64_t>(status.st_size)};
}

/// A file while threads read pieces of it. It is opened by the first of them, and closed after the last.
class Reading {
public:
    /// `into`: where a copy is made; null: nowhere.
    Reading(const ImageDir& images, const PresentFile& file, const ImageDir* into)
        : images_(images), into_(into), file_(file) {}

    [[nodiscard]] std::span<const std::byte> piece(std::size_t number, std::span<std::byte> buffer) {
        std::call_once(opened_, [this] { open(); });
        const ErrorContext context([this] { return fmt::format("{}/{}", images_.name(), file_.name); });
        const std::uint64_t offset = number * kPiece;
        const auto bytes = buffer.first(std::min<std::uint64_t>(kPiece, file_.size - offset));
        readAt(from_.get(), bytes, offset);
        return bytes;
    }

    /// Puts a piece into the copy, whose size is the file's from the beginning on: zeroes needn't be written.
    void store(std::size_t number, std::span<const std::byte> bytes) const {
        if (into_ == nullptr ||
            std::all_of(bytes.begin(), bytes.end(), [](std::byte each) { return each == std::byte{}; }))
            return;
        try {
            writeAt(to_.get(), bytes, number * kPiece);
        } catch (Error& error) {
            if (error.code() == ENOSPC)
                error.addHint("signed images are held in memory until they are restored: raise --stream-memory");
            throw;
        }
    }

private:
    void open() {
        auto from = images_.openNamed(file_.name, O_RDONLY);
        if (!from)
            failWith(ENOENT, "open {} in {}", file_.name, images_.name());
        from_ = std::move(*from);
        if (into_ == nullptr)
            return;
        to_ = into_->createNamed(file_.name);
        sys(::ftruncate(to_.get(), static_cast<off_t>(file_.size)), "size {} to {} bytes", file_.name, file_.size);
    }

    const ImageDir& images_;
    const ImageDir* const into_;
    const PresentFile& file_;
    std::once_flag opened_;
    UniqueFd from_;
    UniqueFd to_;
};

/// Gets a piece of a file, both by number, and its hash. Called by any thread.
using TakePiece = std::function<void(std::size_t file, std::size_t number, const Hash& hash)>;

/// Reads all pieces of all files once, with all cores. What `take` doesn't throw at is copied into `into`.
void hashAll(const ImageDir& images, std::span<const PresentFile> files, const ImageDir* into,
             const CheckStop& checkStop, const TakePiece& take) {
    const crypto::Symmetric symmetric;
    BufferPool buffers(kPiece);
    ThreadPool pool(availableCores());  // last: its threads use the others
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (files[i].pieces() == 0 && into != nullptr)
            (void)into->createNamed(files[i].name);
        const auto reading = std::make_shared<Reading>(images, files[i], into);
        for (std::size_t number = 0; number < files[i].pieces(); ++number)
            pool.submit([&, i, number, reading] {
                checkStop();
                BufferPool::Use buffer(buffers);
                const auto bytes = reading->piece(number, buffer.first(kPiece));
                take(i, number, symmetric.hash(bytes));
                reading->store(number, bytes);
            });
    }
    pool.wait();
}

/// The bytes that are signed.
std::vector<std::byte> statementOf(std::span<const HashedFile> files) {
    std::vector<std::byte> all;
    const auto append = [&all](std::span<const std::byte> bytes) {
        const std::size_t end = all.size();
        all.resize(end + bytes.size());
        std::copy(bytes.begin(), bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    constexpr std::string_view kPurpose = "criu images, version 1";
    append(std::as_bytes(std::span(kPurpose)));
    for (const HashedFile& file : files) {
        all.push_back(std::byte{});
        append(std::as_bytes(std::span(file.name)));
        all.push_back(std::byte{});
        append(std::as_bytes(std::span(&file.size, 1)));
        append(std::as_bytes(std::span(file.pieces)));
    }
    return all;
}

template <std::size_t Size>
ProtobufCBinaryData fieldOf(const std::array<std::byte, Size>& bytes) noexcept {
    return {Size, const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()))};
}

template <std::size_t Size>
void copyTo(std::array<std::byte, Size>& array, const ProtobufCBinaryData& data, const std::string& name) {
    if (data.len != Size)
        fail("{}: a field has {} bytes instead of {}", name, data.len, Size);
    std::copy_n(reinterpret_cast<const std::byte*>(data.data), Size, array.begin());
}

/// What the signature says, which is verified.
std::vector<HashedFile> readSigned(const ImageDir& images, std::span<const crypto::PublicKey> signers) {
    const std::string name = fmt::format("{}/{}", images.name(), imageName(ImageKind::Signature));
    auto image = images.openRead(ImageKind::Signature);
    if (!image)
        failWith(ENOENT, "open {}: the images aren't signed, but --signed-by is given", name);
    const auto entry = image->only<SignatureEntry>();
    if (entry->version != kVersion)
        fail("{}: a signature of a kind that this criu doesn't know: {}", name, entry->version);
    std::vector<HashedFile> files(entry->n_files);
    for (std::size_t i = 0; i < files.size(); ++i) {
        files[i].name = entry->files[i]->name;
        files[i].size = entry->files[i]->size;
        const ProtobufCBinaryData& hashes = entry->files[i]->hashes;
        const std::uint64_t pieces = files[i].size / kPiece + (files[i].size % kPiece != 0 ? 1 : 0);
        if (hashes.len % sizeof(Hash) != 0 || hashes.len / sizeof(Hash) != pieces)
            fail("{}: {} has {} bytes of hashes for {} bytes", name, files[i].name, hashes.len, files[i].size);
        files[i].pieces.resize(pieces);
        if (pieces != 0)
            std::memcpy(files[i].pieces.data(), hashes.data, hashes.len);
    }
    crypto::PublicKey signer{};
    copyTo(signer, entry->signer, name);
    crypto::Signature signature{};
    copyTo(signature, entry->signature, name);
    if (std::find(signers.begin(), signers.end(), signer) == signers.end())
        fail("{}: it was signed by somebody else than --signed-by names", name);
    if (!crypto::Curves().verify(signer, statementOf(files), signature))
        fail("{}: the signature is wrong: damaged, or forged", name);
    return files;
}

/// The files that lie there, which must be those that were signed, as long as they were. Nothing is read of a file that
/// has another size: it may be one of exabytes, all of them a hole.
std::vector<PresentFile> requireSameFiles(const ImageDir& images, std::span<const HashedFile> expected) {
    const std::vector<std::string> names = signedNames(images);
    std::vector<PresentFile> present;
    auto next = names.begin();
    for (const HashedFile& file : expected) {
        if (next != names.end() && *next < file.name)
            break;
        if (next == names.end() || *next != file.name)
            failWith(ENOENT, "open {}/{}, which was signed", images.name(), file.name);
        present.push_back(presentFile(images, file.name));
        if (present.back().size != file.size)
            fail("{}/{}: it has {} bytes, but {} were signed", images.name(), file.name, present.back().size,
                 file.size);
        ++next;
    }
    if (next != names.end())
        fail("{}/{}: it wasn't signed with the others", images.name(), *next);
    return present;
}

}  // namespace

void signImages(const ImageDir& images, crypto::Bytes secret, const CheckStop& checkStop) {
    const crypto::Curves curves;
    std::vector<PresentFile> present;
    std::vector<HashedFile> files;
    for (const std::string& name : signedNames(images)) {
        present.push_back(presentFile(images, name));
        files.push_back({name, present.back().size, std::vector<Hash>(present.back().pieces())});
    }
    hashAll(images, present, nullptr, checkStop,
            [&files](std::size_t file, std::size_t number, const Hash& hash) { files[file].pieces[number] = hash; });
    const crypto::PublicKey signer = curves.signerOf(secret);
    const crypto::Signature signature = curves.sign(secret, statementOf(files));
    std::vector<::SignedFile> entries(files.size(), SIGNED_FILE__INIT);
    std::vector<::SignedFile*> pointers(files.size());
    for (std::size_t i = 0; i < files.size(); ++i) {
        entries[i].name = const_cast<char*>(files[i].name.c_str());
        entries[i].size = files[i].size;
        entries[i].hashes = {files[i].pieces.size() * sizeof(Hash),
                             const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(files[i].pieces.data()))};
        pointers[i] = &entries[i];
    }
    SignatureEntry entry = SIGNATURE_ENTRY__INIT;
    entry.version = kVersion;
    entry.signer = fieldOf(signer);
    entry.n_files = pointers.size();
    entry.files = pointers.data();
    entry.signature = fieldOf(signature);
    ImageWriter image = images.create(ImageKind::Signature);
    image.write(entry);
    image.finish();
}

void requireSigned(const ImageDir& images, std::span<const crypto::PublicKey> signers, const ImageDir* into,
                   const CheckStop& checkStop) {
    const std::vector<HashedFile> expected = readSigned(images, signers);
    const std::vector<PresentFile> present = requireSameFiles(images, expected);
    hashAll(images, present, into, checkStop, [&](std::size_t file, std::size_t number, const Hash& hash) {
        if (expected[file].pieces[number] != hash)
            fail("{}/{}: the piece at offset {:#x} isn't what was signed: damaged, or changed", images.name(),
                 present[file].name, number * kPiece);
    });
}

}  // namespace criu
