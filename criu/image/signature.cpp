// SPDX-License-Identifier: GPL-2.0-only
#include "criu/image/signature.hpp"

#include <fcntl.h>
#include <sys/stat.h>

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

/// A file while threads hash pieces of it; it is opened by the first.
class Hashing {
public:
    Hashing(const ImageDir& images, std::string name, std::uint64_t size)
        : images_(images), name_(std::move(name)), size_(size), pieces_((size + kPiece - 1) / kPiece) {}

    [[nodiscard]] std::size_t pieces() const noexcept { return pieces_.size(); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    void hashPiece(const crypto::Symmetric& symmetric, std::size_t number, std::span<std::byte> buffer) {
        std::call_once(opened_, [this] {
            auto file = images_.openNamed(name_, O_RDONLY);
            if (!file)
                failWith(ENOENT, "open {} in {}", name_, images_.name());
            file_ = std::move(*file);
        });
        const ErrorContext context([this] { return fmt::format("{}/{}", images_.name(), name_); });
        const std::uint64_t offset = number * kPiece;
        const auto piece = buffer.first(std::min<std::uint64_t>(kPiece, size_ - offset));
        readAt(file_.get(), piece, offset);
        pieces_[number] = symmetric.hash(piece);
    }

    /// All pieces were hashed.
    [[nodiscard]] HashedFile finish() { return {name_, size_, std::move(pieces_)}; }

private:
    const ImageDir& images_;
    const std::string name_;
    const std::uint64_t size_;
    std::once_flag opened_;
    UniqueFd file_;
    std::vector<Hash> pieces_;
};

std::vector<HashedFile> hashAll(const ImageDir& images, const crypto::Symmetric& symmetric,
                                const CheckStop& checkStop) {
    std::vector<std::shared_ptr<Hashing>> files;
    for (const std::string& name : signedNames(images)) {
        const auto file = images.openNamed(name, O_RDONLY);
        if (!file)
            failWith(ENOENT, "open {} in {}", name, images.name());
        struct stat status {};
        sys(::fstat(file->get(), &status), "look at {}", name);
        if (!S_ISREG(status.st_mode))
            fail("{}/{} isn't a regular file", images.name(), name);
        files.push_back(std::make_shared<Hashing>(images, name, static_cast<std::uint64_t>(status.st_size)));
    }
    std::vector<HashedFile> out(files.size());
    BufferPool buffers(kPiece);
    std::mutex mutex;
    ThreadPool pool(availableCores());  // last: its threads use the others
    for (std::size_t i = 0; i < files.size(); ++i) {
        const auto left = std::make_shared<std::size_t>(files[i]->pieces());
        if (*left == 0)
            out[i] = files[i]->finish();
        for (std::size_t piece = 0; piece < files[i]->pieces(); ++piece)
            pool.submit([&, i, piece, left, file = files[i]] {
                checkStop();
                BufferPool::Use buffer(buffers);
                file->hashPiece(symmetric, piece, buffer.first(kPiece));
                const std::lock_guard lock(mutex);
                if (--*left == 0)
                    out[i] = file->finish();
            });
        files[i].reset();  // it is closed when its last piece is done
    }
    pool.wait();
    return out;
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

}  // namespace

void signImages(const ImageDir& images, crypto::Bytes secret, const CheckStop& checkStop) {
    const crypto::Symmetric symmetric;
    const crypto::Curves curves;
    const std::vector<HashedFile> files = hashAll(images, symmetric, checkStop);
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

void requireSigned(const ImageDir& images, std::span<const crypto::PublicKey> signers, const CheckStop& checkStop) {
    const std::vector<HashedFile> expected = readSigned(images, signers);
    const std::vector<HashedFile> present = hashAll(images, crypto::Symmetric(), checkStop);
    auto next = present.begin();
    for (const HashedFile& file : expected) {
        if (next != present.end() && next->name < file.name)
            break;
        if (next == present.end() || next->name != file.name)
            failWith(ENOENT, "open {}/{}, which was signed", images.name(), file.name);
        if (next->size != file.size)
            fail("{}/{}: it has {} bytes, but {} were signed", images.name(), file.name, next->size, file.size);
        const auto bad = std::mismatch(file.pieces.begin(), file.pieces.end(), next->pieces.begin()).first;
        if (bad != file.pieces.end())
            fail("{}/{}: the piece at offset {:#x} isn't what was signed: damaged, or changed", images.name(),
                 file.name, static_cast<std::uint64_t>(bad - file.pieces.begin()) * kPiece);
        ++next;
    }
    if (next != present.end())
        fail("{}/{}: it wasn't signed with the others", images.name(), next->name);
}

}  // namespace criu
