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
#include "criu/image/encryption.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/record.hpp"
#include "images/encryption.hpp"

namespace criu {
namespace {

using CheckStop = std::function<void()>;
using crypto::Hash;

/// Version of a signature with an Ed25519 key and without certificates.
constexpr std::uint32_t kFirstSignature = 1;
constexpr std::uint32_t kSignatureVersion = 2;
/// Maximum number of certificates, because the check of each certificate takes time.
constexpr std::size_t kMostCertificates = 16;
/// Number of bytes that one hash covers. A large file has several hashes, so that several threads can hash the file.
constexpr std::size_t kPiece = std::size_t{1} << 20;

struct HashedFile {
    std::string name;
    std::uint64_t size = 0;
    std::vector<Hash> pieces;  ///< hash of each kPiece bytes; the last piece may be shorter
};

/// Returns the names of the files that a signature covers, in sorted order.
std::vector<std::string> signedNames(const ImageDir& images) {
    std::vector<std::string> names = namesIn(images);
    const std::string own = imageName(ImageKind::Signature);
    std::erase_if(names, [&own](const std::string& name) { return !name.ends_with(".img") || name == own; });
    std::sort(names.begin(), names.end());
    return names;
}

/// File that the images directory contains.
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

/// File that several threads read in pieces. The first thread opens the file; the destructor closes it.
class Reading {
public:
    /// `into`: directory for a copy of the file; null for no copy.
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

    /// Writes a piece into the copy. Skips a piece of zeroes: the copy has its final size, so its holes read as zeroes.
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

/// Function that receives the hash of a piece. Any thread may call it.
using TakePiece = std::function<void(std::size_t file, std::size_t number, const Hash& hash)>;

/// Reads all pieces of all files once, by threads on all processors. Calls `take` with the hash of each piece. If
/// `take` doesn't throw and `into` isn't null, then copies the piece into `into`.
void hashAll(const ImageDir& images, std::span<const PresentFile> files, const ImageDir* into,
             const CheckStop& checkStop, const TakePiece& take) {
    const crypto::Symmetric symmetric;
    BufferPool buffers(kPiece);
    // Declared after the other variables: its destructor ends the threads that use them.
    ThreadPool pool(availableCores());
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

/// Returns the bytes that a signature covers. From version 2 on, these bytes contain the signer's key. So an attacker
/// can't present another key for which the signature is valid.
std::vector<std::byte> statementOf(std::uint32_t version, const crypto::Der& signer,
                                   const std::optional<SignedId>& parent, std::span<const HashedFile> files) {
    std::vector<std::byte> all;
    const auto append = [&all](std::span<const std::byte> bytes) {
        const std::size_t end = all.size();
        all.resize(end + bytes.size());
        std::copy(bytes.begin(), bytes.end(), all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    const std::string_view purpose = version == kFirstSignature ? "criu images, version 1" : "criu images, version 2";
    append(std::as_bytes(std::span(purpose)));
    if (version != kFirstSignature) {
        const std::uint64_t size = signer.size();
        append(std::as_bytes(std::span(&size, 1)));
        append(signer);
        append(parent.value_or(SignedId{}));
    }
    for (const HashedFile& file : files) {
        all.push_back(std::byte{});
        append(std::as_bytes(std::span(file.name)));
        all.push_back(std::byte{});
        append(std::as_bytes(std::span(&file.size, 1)));
        append(std::as_bytes(std::span(file.pieces)));
    }
    return all;
}

/// Returns the public key of the signer in the form of X509::signerOf().
crypto::Der signerIn(const crypto::X509& x509, const SignatureEntry& entry) {
    if (entry.version != kFirstSignature) {
        const crypto::Bytes given = bytesOf(entry.signer);
        crypto::Der key = x509.signerOf(given);
        if (!std::equal(key.begin(), key.end(), given.begin(), given.end()))
            fail("the signer's key isn't in the form in which keys are compared");
        return key;
    }
    if (entry.signer.len != crypto::kKeySize)
        fail("the signer's key has {} bytes instead of {}", entry.signer.len, crypto::kKeySize);
    return crypto::X509::ed25519(bytesOf(entry.signer));
}

/// Returns the certificates in the signature if the first certificate is for the signer's key. Otherwise returns the
/// signer's certificate in `trusted`, or an empty list.
std::vector<crypto::Der> chainOf(const crypto::X509& x509, const SignatureEntry& entry, const crypto::Der& signer,
                                 std::span<const crypto::Der> trusted) {
    const auto isSigners = [&](const crypto::Der& certificate) {
        return x509.keyOf(certificate, crypto::KeyUse::Signature) == signer;
    };
    std::vector<crypto::Der> chain;
    for (std::size_t i = 0; i < std::min(entry.n_certificates, kMostCertificates); ++i) {
        const crypto::Bytes each = bytesOf(entry.certificates[i]);
        chain.emplace_back(each.begin(), each.end());
    }
    if (!chain.empty() && isSigners(chain.front()))
        return chain;
    chain.clear();
    // isSigners() throws for certificates that don't allow signatures, such as certificates of authorities. The search
    // skips them.
    const auto own = std::find_if(trusted.begin(), trusted.end(), [&](const crypto::Der& each) {
        try {
            return isSigners(each);
        } catch (const Error&) {
            return false;
        }
    });
    if (own != trusted.end())
        chain.push_back(*own);
    return chain;
}

/// Throws Error if `signers` (--signed-by) contains neither the signer's key nor an authority that certifies the
/// signer.
void requireTrusted(const crypto::X509& x509, const SignatureEntry& entry, const crypto::Der& signer,
                    const Signers& signers) {
    if (std::find(signers.keys.begin(), signers.keys.end(), signer) != signers.keys.end())
        return;
    std::vector<crypto::Der> chain;
    if (!signers.certificates.empty())
        chain = chainOf(x509, entry, signer, signers.certificates);
    if (chain.empty())
        fail("its signer isn't the one that --signed-by names");
    x509.requireTrusted(chain, signers.certificates, signers.revocations);
}

struct Statement {
    SignedLink link;
    std::vector<HashedFile> files;
};

/// Reads signature.img, and verifies the signature over the list of files in it.
Statement readSigned(const ImageDir& images, const Signers& signers) {
    const std::string name = fmt::format("{}/{}", images.name(), imageName(ImageKind::Signature));
    auto image = images.openRead(ImageKind::Signature);
    if (!image)
        failWith(ENOENT, "open {}: the images aren't signed, but --signed-by is given", name);
    const auto entry = image->only<SignatureEntry>();
    if (entry->version != kFirstSignature && entry->version != kSignatureVersion)
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
    const ErrorContext context([&] { return name; });
    const crypto::X509 x509;
    const crypto::Der signer = signerIn(x509, *entry);
    requireTrusted(x509, *entry, signer, signers);
    std::optional<SignedId> parent;
    if (entry->version != kFirstSignature && entry->has_parent != 0) {
        if (entry->parent.len != sizeof(SignedId))
            fail("the parent's id has {} bytes", entry->parent.len);
        std::memcpy(parent.emplace().data(), entry->parent.data, entry->parent.len);
    }
    const std::vector<std::byte> said = statementOf(entry->version, signer, parent, files);
    if (!x509.verify(signer, said, bytesOf(entry->signature)))
        fail("the signature is wrong: damaged, or forged");
    return {{crypto::Symmetric().hash(said), parent}, std::move(files)};
}

/// Returns the files of the directory. Throws Error if their names or sizes differ from the signed files. Compares
/// sizes before anything reads the files, because a file may have a hole of exabytes.
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

bool isWanted(std::string_view name) {
    return isRecord(name) || name == imageName(ImageKind::Encryption);
}

}  // namespace

void signImages(const ImageDir& images, const Signer& signer, const std::optional<SignedId>& parent,
                const CheckStop& checkStop) {
    const crypto::X509 x509;
    std::vector<PresentFile> present;
    std::vector<HashedFile> files;
    for (const std::string& name : signedNames(images)) {
        present.push_back(presentFile(images, name));
        files.push_back({name, present.back().size, std::vector<Hash>(present.back().pieces())});
    }
    hashAll(images, present, nullptr, checkStop,
            [&files](std::size_t file, std::size_t number, const Hash& hash) { files[file].pieces[number] = hash; });
    const crypto::Der key = x509.signerOfSecret(signer.key.bytes());
    const crypto::Bytes raw = crypto::X509::rawEd25519(key);
    const std::uint32_t version =
        raw.empty() || !signer.certificates.empty() || parent ? kSignatureVersion : kFirstSignature;
    const std::vector<std::byte> signature = x509.sign(signer.key.bytes(), statementOf(version, key, parent, files));
    std::vector<ProtobufCBinaryData> certificates;
    for (const crypto::Der& each : signer.certificates)
        certificates.push_back(fieldOf(each));
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
    entry.version = version;
    entry.signer = fieldOf(version == kFirstSignature ? raw : crypto::Bytes(key));
    entry.n_files = pointers.size();
    entry.files = pointers.data();
    entry.signature = fieldOf(signature);
    entry.n_certificates = certificates.size();
    entry.certificates = certificates.data();
    entry.has_parent = parent ? 1 : 0;
    if (parent)
        entry.parent = fieldOf(*parent);
    ImageWriter image = images.create(ImageKind::Signature);
    image.write(entry);
    image.finish();
}

SignedLink requireSigned(const ImageDir& images, const Signers& signers, const ImageDir* into,
                         const CheckStop& checkStop, SignedPart part) {
    Statement statement = readSigned(images, signers);
    std::vector<HashedFile>& expected = statement.files;
    std::vector<PresentFile> present = requireSameFiles(images, expected);
    if (part == SignedPart::Records) {
        std::erase_if(expected, [](const HashedFile& file) { return !isWanted(file.name); });
        std::erase_if(present, [](const PresentFile& file) { return !isWanted(file.name); });
    }
    hashAll(images, present, into, checkStop, [&](std::size_t file, std::size_t number, const Hash& hash) {
        if (expected[file].pieces[number] != hash)
            fail("{}/{}: the piece at offset {:#x} doesn't match the signature: it is damaged or changed",
                 images.name(), present[file].name, number * kPiece);
    });
    return statement.link;
}

}  // namespace criu
