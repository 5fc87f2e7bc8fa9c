// SPDX-License-Identifier: GPL-2.0-only
// Input that is read before authentication (files of keys, encryption.img, signature.img), or from an untrusted sender.
// Anyone can encrypt for a public key. So the target seals the list of encrypted files and blocks of any size itself,
// like a hostile sender. The first byte chooses the parser.
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/whole_io.hpp"
#include "criu/image/encrypted_format.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/key_files.hpp"
#include "criu/image/old_images.hpp"
#include "criu/image/signature.hpp"
#include "images/encryption.hpp"
#include "test/fuzz/choose.hpp"
#include "test/fuzz/input.hpp"
#include "test/unit/pki.hpp"

namespace {

using namespace criu;

const std::function<void()> kGoOn = [] {};

/// Directory for one input.
class Folder {
public:
    Folder() : images(make()) {}
    ~Folder() {
        for (const std::string& name : namesIn(images))
            (void)::unlinkat(images.fd(), name.c_str(), 0);
        (void)::rmdir(images.name().c_str());
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    void put(const std::string& name, std::span<const std::byte> content) const {
        writeAt(images.createNamed(name).get(), content, 0);
    }

    const ImageDir images;

private:
    static ImageDir make() {
        std::string path = "/tmp/criu-secrecy-fuzz-XXXXXX";
        if (::mkdtemp(path.data()) == nullptr)
            failErrno("make a directory");
        return ImageDir::open(path);
    }
};

/// Secret keys of each kind.
const std::vector<crypto::SecretKey>& identities() {
    static const std::vector<crypto::SecretKey> all =
        parseIdentities(std::string(test::pki::kP256Secret) + test::pki::kRsaSecret +
                        "AGE-SECRET-KEY-1WURK6ZNNRZJH60QKC9E9RVNXGH05CTU8A0QFJ2KPWLA628DE9S4QF64P89\n");
    return all;
}

std::span<const std::byte> bytesOf(std::string_view text) {
    return std::as_bytes(std::span(text));
}

void readRecipientKeys(std::string_view text) {
    fuzz::require(!parseRecipients(text).empty());
}

void readIdentityKeys(std::string_view text) {
    fuzz::require(!parseIdentities(text).empty());
}

void readSignerKey(std::string_view text) {
    fuzz::require(!parseSigner(text).key.bytes().empty());
}

void readSignerKeys(std::string_view text) {
    fuzz::require(!parseSigners(text).empty());
}

void readHead(std::string_view image) {
    const Folder folder;
    folder.put("encryption.img", bytesOf(image));
    const DumpKey key(folder.images, identities());
}

void readSignature(std::string_view image) {
    const Folder folder;
    folder.put("signature.img", bytesOf(image));
    folder.put("pages-1.img", bytesOf(image));
    static const Signers kSigners = parseSigners(test::pki::kAuthority);
    requireSigned(folder.images, kSigners, nullptr, kGoOn);
}

/// Writes an encrypted file of one block: its head, and `content`, sealed.
void putSealed(const Folder& folder, const DumpKey& key, std::uint64_t file, crypto::Nonce nonce,
               std::span<const std::byte> associated, std::span<const std::byte> content) {
    const auto head = encrypted::head();
    std::vector<std::byte> whole(head.size() + content.size() + crypto::kTagSize);
    std::copy(head.begin(), head.end(), whole.begin());
    key.ciphers().seal(key.ofFile(file).bytes(), nonce, associated, content, std::span(whole).subspan(head.size()));
    folder.put(imageName(ImageKind::Encrypted, file), whole);
}

/// Checks that accepted files have the sizes of the list.
void requireAsListed(const ImageDir& images, const DecryptedAmounts& amounts) {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
    for (const std::string& name : namesIn(images)) {
        if (name == "." || name == "..")
            continue;
        const auto file = images.openNamed(name, O_RDONLY);
        fuzz::require(file.has_value());
        ++files;
        bytes += static_cast<std::uint64_t>(::lseek(file->get(), 0, SEEK_END));
    }
    fuzz::require(files == amounts.files && bytes == amounts.bytes);
}

/// Uses the text as the list. Its first file has one block, with the size and offset of the list.
void readList(std::string_view list) {
    const Folder folder;
    const Folder into;
    const DumpKey key;
    const std::array<crypto::PublicKey, 1> recipients{identities().front().own};
    folder.put("encryption.img", key.head(recipients));
    const auto head = encrypted::head();
    std::vector<std::byte> image(head.begin(), head.end());
    const auto text = bytesOf(list);
    image.insert(image.end(), text.begin(), text.end());
    putSealed(folder, key, encrypted::kListFile, {0, encrypted::kLastOfList}, {}, image);
    try {
        ImageReader reader(fuzz::fileOf({reinterpret_cast<const std::uint8_t*>(image.data()), image.size()}),
                           ImageKind::Encrypted, "list");
        for (std::uint64_t file = 1; const auto entry = reader.next<EncryptedFileEntry>(); ++file) {
            const std::size_t size = (*entry)->n_sizes != 0 ? std::min<std::size_t>((*entry)->sizes[0], 4096) : 0;
            const std::uint64_t offset = (*entry)->n_offsets != 0 ? (*entry)->offsets[0] : 0;
            if ((*entry)->n_sizes == 0)
                folder.put(imageName(ImageKind::Encrypted, file), head);
            else
                putSealed(folder, key, file, {0, 0}, encrypted::placeOf(offset), std::vector<std::byte>(size));
        }
    } catch (const Error&) {
        // The list is used again below, where it must be refused.
    }
    const DecryptedAmounts amounts =
        decryptImages(folder.images, DumpKey(folder.images, identities()), &into.images, kGoOn);
    requireAsListed(into.images, amounts);
}

constexpr std::array<void (*)(std::string_view), 7> kReaders{
    readList, readHead, readSignature, readRecipientKeys, readSignerKeys, readIdentityKeys, readSignerKey,
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    return fuzz::readByOneOf(kReaders, data, size);
}
