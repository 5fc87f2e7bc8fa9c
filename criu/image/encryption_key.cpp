// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_dir.hpp"
#include "images/encryption.hpp"
#include "images/inventory.hpp"

namespace criu {
namespace {

using crypto::Bytes;
using crypto::kKeySize;
using crypto::kTagSize;
using crypto::PublicKey;
using crypto::SecretBytes;

constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kWrappedSize = kKeySize + kTagSize;
/// More than anybody has; each costs a multiplication on a curve.
constexpr std::size_t kMostRecipients = 256;

/// One entry of encryption.img.
struct Recipient {
    PublicKey share{};
    std::array<std::byte, kWrappedSize> wrapped{};
};

Bytes bytesOf(const ProtobufCBinaryData& data) noexcept {
    return {reinterpret_cast<const std::byte*>(data.data), data.len};
}

ProtobufCBinaryData fieldOf(Bytes bytes) noexcept {
    return {bytes.size(), const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()))};
}

template <typename Array>
void copyTo(Array& array, const ProtobufCBinaryData& data, const std::string& name, std::string_view what) {
    if (data.len != array.size())
        fail("{}: its {} has {} bytes instead of {}", name, what, data.len, array.size());
    std::copy_n(bytesOf(data).begin(), array.size(), array.begin());
}

/// The key that a recipient's entry is sealed with.
SecretBytes keyForEntry(const crypto::Symmetric& symmetric, const SecretBytes& shared, const PublicKey& share,
                        const PublicKey& recipient) {
    std::array<std::byte, 2 * kKeySize> salt;
    std::copy(recipient.begin(), recipient.end(), std::copy(share.begin(), share.end(), salt.begin()));
    SecretBytes key(kKeySize);
    symmetric.derive(shared.bytes(), salt, "criu images: recipient, X25519", key.bytes());
    return key;
}

crypto::Hash macOf(const crypto::Symmetric& symmetric, const SecretBytes& key, Bytes id,
                   std::span<const Recipient> recipients) {
    std::vector<std::byte> all(id.begin(), id.end());
    for (const Recipient& each : recipients) {
        all.insert(all.end(), each.share.begin(), each.share.end());
        all.insert(all.end(), each.wrapped.begin(), each.wrapped.end());
    }
    const SecretBytes macKey(kKeySize);
    symmetric.derive(key.bytes(), id, "criu images: head", macKey.bytes());
    return symmetric.mac(macKey.bytes(), all);
}

}  // namespace

DumpKey::DumpKey() : key_(kKeySize) {
    crypto::randomize(id_);
    crypto::randomize(key_.bytes());
}

DumpKey::DumpKey(const ImageDir& images, std::span<const SecretBytes> identities) : key_(kKeySize) {
    ImageReader image = images.openRequired(ImageKind::Encryption);
    const std::string name = fmt::format("{}/{}", images.name(), image.name());
    const auto head = image.only<EncryptionHead>();
    if (head->version != kVersion)
        fail("{}: images are encrypted in a way that this criu doesn't know: {}", name, head->version);
    copyTo(id_, head->id, name, "id");
    if (head->n_recipients > kMostRecipients)
        fail("{}: it has {} recipients", name, head->n_recipients);
    std::vector<Recipient> recipients(head->n_recipients);
    for (std::size_t i = 0; i < recipients.size(); ++i) {
        copyTo(recipients[i].share, head->recipients[i]->share, name, "share");
        copyTo(recipients[i].wrapped, head->recipients[i]->wrapped, name, "wrapped key");
    }
    crypto::Hash mac{};
    copyTo(mac, head->mac, name, "MAC");

    bool found = false;
    const ErrorContext context([&] { return name; });
    for (const SecretBytes& identity : identities) {
        const PublicKey own = curves_.publicOf(identity.bytes());
        for (const Recipient& each : recipients) {
            const SecretBytes shared(kKeySize);
            curves_.agree(identity.bytes(), each.share, shared.bytes());
            found = found || symmetric_.open(keyForEntry(symmetric_, shared, each.share, own).bytes(), {}, id_,
                                             each.wrapped, key_.bytes());
        }
    }
    if (!found) {
        Error error(0, "the images are encrypted, and for none of the keys given");
        error.addHint("--decrypt names a file with the secret key of a recipient");
        throw error;
    }
    if (macOf(symmetric_, key_, id_, recipients) != mac)
        fail("it isn't what was written: damaged, or changed");
}

std::vector<std::byte> DumpKey::head(std::span<const PublicKey> keys) const {
    if (keys.size() > kMostRecipients)
        fail("images can be encrypted for {} recipients, not {}", kMostRecipients, keys.size());
    std::vector<Recipient> recipients(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const SecretBytes ephemeral(kKeySize);
        const SecretBytes shared(kKeySize);
        crypto::randomize(ephemeral.bytes());
        Recipient& each = recipients[i];
        each.share = curves_.publicOf(ephemeral.bytes());
        curves_.agree(ephemeral.bytes(), keys[i], shared.bytes());
        symmetric_.seal(keyForEntry(symmetric_, shared, each.share, keys[i]).bytes(), {}, id_, key_.bytes(),
                        each.wrapped);
    }
    std::vector<EncryptionRecipient> entries(recipients.size(), ENCRYPTION_RECIPIENT__INIT);
    std::vector<EncryptionRecipient*> pointers(recipients.size());
    for (std::size_t i = 0; i < recipients.size(); ++i) {
        entries[i].share = fieldOf(recipients[i].share);
        entries[i].wrapped = fieldOf(recipients[i].wrapped);
        pointers[i] = &entries[i];
    }
    const crypto::Hash mac = macOf(symmetric_, key_, id_, recipients);
    EncryptionHead message = ENCRYPTION_HEAD__INIT;
    message.version = kVersion;
    message.id = fieldOf(id_);
    message.n_recipients = pointers.size();
    message.recipients = pointers.data();
    message.mac = fieldOf(mac);
    return imageOf(ImageKind::Encryption, message.base);
}

SecretBytes DumpKey::ofFile(std::uint64_t file) const {
    SecretBytes key(kKeySize);
    symmetric_.derive(key_.bytes(), id_, fmt::format("criu images: file {}", file), key.bytes());
    return key;
}

bool areEncrypted(const ImageDir& images) {
    if (images.exists(ImageKind::Encryption))
        return true;
    auto image = images.openRead(ImageKind::Inventory);
    if (!image)
        return false;
    const auto inventory = image->next<InventoryEntry>();
    if (!inventory)
        return false;
    const std::span<char* const> extensions((*inventory)->extensions, (*inventory)->n_extensions);
    return std::find(extensions.begin(), extensions.end(), kEncrypted) != extensions.end();
}

}  // namespace criu
