// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

#include "criu/base/error.hpp"
#include "criu/image/catalogue.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_dir.hpp"
#include "criu/image/record.hpp"
#include "images/encryption.hpp"
#include "images/inventory.hpp"

namespace criu {
namespace {

using crypto::Bytes;
using crypto::KeyType;
using crypto::kKeySize;
using crypto::kTagSize;
using crypto::PublicKey;
using crypto::SecretBytes;
using crypto::SecretKey;

/// Version of encryption.img in which all recipients have X25519 keys.
constexpr std::uint32_t kFirstVersion = 1;
/// Version of encryption.img with recipients of all key types.
constexpr std::uint32_t kVersion = 2;
/// Version of encryption.img with recipients of all key types and with encryption links.
constexpr std::uint32_t kBondsVersion = 3;
constexpr std::size_t kWrappedSize = kKeySize + kTagSize;
/// Maximum number of recipients, because each recipient costs a multiplication on a curve.
constexpr std::size_t kMostRecipients = 256;

/// Entry of encryption.img: the dump key, encrypted for one recipient.
struct Recipient {
    KeyType type = KeyType::X25519;
    std::vector<std::byte> share;
    std::array<std::byte, kWrappedSize> wrapped{};
};

/// Returns the text from which criu derives the key of a recipient's entry.
std::string_view purposeOf(KeyType type) noexcept {
    switch (type) {
        case KeyType::X25519:
            return "criu images: recipient, X25519";
        case KeyType::P256:
            return "criu images: recipient, P-256";
        case KeyType::P384:
            return "criu images: recipient, P-384";
        case KeyType::P521:
            return "criu images: recipient, P-521";
        case KeyType::Rsa:
            break;
    }
    return "criu images: recipient, RSA-OAEP";
}

bool isShareSize(KeyType type, std::size_t size) noexcept {
    constexpr std::size_t kSmallestRsa = 256;
    constexpr std::size_t kLargestRsa = 2048;
    if (type == KeyType::Rsa)
        return size >= kSmallestRsa && size <= kLargestRsa;
    return size == (type == KeyType::X25519 ? kKeySize : 1 + 2 * crypto::scalarSize(type));
}

template <typename Array>
void copyTo(Array& array, const ProtobufCBinaryData& data, const std::string& name, std::string_view what) {
    if (data.len != array.size())
        fail("{}: its {} has {} bytes instead of {}", name, what, data.len, array.size());
    std::copy_n(bytesOf(data).begin(), array.size(), array.begin());
}

void append(std::vector<std::byte>& to, Bytes bytes) {
    to.insert(to.end(), bytes.begin(), bytes.end());
}

void append(std::vector<std::byte>& to, std::uint32_t number) {
    append(to, std::as_bytes(std::span(&number, 1)));
}

/// Returns the key that encrypts the dump key in a recipient's entry.
SecretBytes keyForEntry(const crypto::Symmetric& symmetric, const SecretBytes& shared, Bytes share,
                        const PublicKey& recipient) {
    std::vector<std::byte> salt;
    append(salt, share);
    append(salt, recipient.bytes);
    append(salt, recipient.exponent);
    SecretBytes key(kKeySize);
    symmetric.derive(shared.bytes(), salt, purposeOf(recipient.type), key.bytes());
    return key;
}

/// Returns the bytes of encryption.img that the MAC (message authentication code) covers.
std::vector<std::byte> authenticated(Bytes id, const EncryptionLinks& bonds, std::span<const Recipient> recipients,
                                     std::uint32_t version) {
    std::vector<std::byte> all(id.size() + (version == kBondsVersion ? sizeof(EncryptedId) + 1 : 0));
    const auto end = std::copy(id.begin(), id.end(), all.begin());
    if (version == kBondsVersion) {
        const EncryptedId parent = bonds.parent.value_or(EncryptedId{});
        std::copy(parent.begin(), parent.end(), end);
        all.back() = bonds.pagesApart ? std::byte{1} : std::byte{0};
    }
    for (const Recipient& each : recipients) {
        if (version != kFirstVersion) {
            append(all, static_cast<std::uint32_t>(each.type));
            append(all, static_cast<std::uint32_t>(each.share.size()));
        }
        append(all, each.share);
        append(all, each.wrapped);
    }
    return all;
}

Recipient recipientIn(const EncryptionRecipient& entry, std::uint32_t version, const std::string& name) {
    const std::uint32_t kind = version == kFirstVersion || entry.has_kind == 0 ? 0 : entry.kind;
    if (kind > static_cast<std::uint32_t>(KeyType::Rsa))
        fail("{}: a recipient has a key of a kind that this criu doesn't know: {}", name, kind);
    Recipient recipient{static_cast<KeyType>(kind), {}, {}};
    if (!isShareSize(recipient.type, entry.share.len))
        fail("{}: its share has {} bytes", name, entry.share.len);
    append(recipient.share, bytesOf(entry.share));
    copyTo(recipient.wrapped, entry.wrapped, name, "wrapped key");
    return recipient;
}

/// If an entry is for one of the identities, stores the dump key in `key` and returns true.
bool unwrap(const crypto::KeyAgreement& agreement, const crypto::Symmetric& symmetric, const Recipient& entry,
            std::span<const SecretKey> identities, Bytes id, std::span<std::byte> key) {
    return std::any_of(identities.begin(), identities.end(), [&](const SecretKey& identity) {
        if (identity.own.type != entry.type)
            return false;
        const std::optional<SecretBytes> shared = agreement.recover(identity, entry.share);
        return shared && symmetric.open(keyForEntry(symmetric, *shared, entry.share, identity.own).bytes(), {}, id,
                                        entry.wrapped, key);
    });
}

}  // namespace

/// Content of encryption.img, or of the file of kind `set.head`. criu needs no key to read it.
struct DumpKey::Head {
    Head(const ImageDir& images, const EncryptedSet& set) {
        ImageReader image = images.openRequired(set.head);
        name = fmt::format("{}/{}", images.name(), image.name());
        const auto head = image.only<EncryptionHead>();
        version = head->version;
        if (version < kFirstVersion || version > kBondsVersion)
            fail("{}: images are encrypted in a way that this criu doesn't know: {}", name, version);
        copyTo(id, head->id, name, "id");
        if (head->n_recipients > kMostRecipients)
            fail("{}: it has {} recipients", name, head->n_recipients);
        for (std::size_t i = 0; i < head->n_recipients; ++i)
            recipients.push_back(recipientIn(*head->recipients[i], version, name));
        copyTo(mac, head->mac, name, "MAC");
        if (version != kBondsVersion)
            return;
        if (head->has_parent != 0)
            copyTo(bonds.parent.emplace(), head->parent, name, "parent's id");
        bonds.pagesApart = head->has_apart != 0 && head->apart != 0;
    }

    std::string name;
    std::uint32_t version = 0;
    std::array<std::byte, 16> id{};
    std::vector<Recipient> recipients;
    crypto::Hash mac{};
    EncryptionLinks bonds;
};

DumpKey::DumpKey(const EncryptionLinks& bonds) : key_(kKeySize), bonds_(bonds) {
    crypto::randomize(id_);
    crypto::randomize(key_->bytes());
    if (bonds_.any())
        deriveRecords();
}

DumpKey::DumpKey(Kept whole, const std::optional<EncryptedId>& parent) : key_(kKeySize), bonds_{parent, false, true} {
    std::ranges::copy(whole.first<sizeof(id_)>(), id_.begin());
    std::ranges::copy(whole.last<kKeySize>(), key_->bytes().begin());
    deriveRecords();
}

DumpKey::DumpKey(const ImageDir& images, std::span<const SecretKey> identities, const EncryptedSet& set)
    : key_(kKeySize) {
    const Head head(images, set);
    id_ = head.id;
    const ErrorContext context([&] { return head.name; });
    const bool found = std::any_of(head.recipients.begin(), head.recipients.end(), [&](const Recipient& each) {
        return unwrap(agreement_, symmetric_, each, identities, id_, key_->bytes());
    });
    if (!found) {
        Error error(ENOKEY, "the images are encrypted, and for none of the keys given");
        error.addHint("--decrypt names a file with the secret key of a recipient");
        throw error;
    }
    if (head.version == kBondsVersion)
        deriveRecords();
    readBonds(head);
}

DumpKey::DumpKey(const ImageDir& images, Kept records, const EncryptedSet& set) : records_(kKeySize) {
    const Head head(images, set);
    std::ranges::copy(records.first<sizeof(id_)>(), id_.begin());
    std::ranges::copy(records.last<kKeySize>(), records_->bytes().begin());
    const ErrorContext context([&] { return head.name; });
    if (head.version != kBondsVersion)
        fail("it is damaged or changed: criu doesn't add to such images");
    readBonds(head);
}

void DumpKey::readBonds(const Head& head) {
    requireMade(head);
    bonds_ = head.bonds;
    bonds_.builtUpon = head.version == kBondsVersion;
}

void DumpKey::deriveRecords() {
    records_.emplace(kKeySize);
    symmetric_.derive(key_->bytes(), id_, "criu images: records", records_->bytes());
}

SecretBytes DumpKey::macKey(std::uint32_t version) const {
    std::string purpose = "criu images: head";
    if (version != kFirstVersion)
        purpose += fmt::format(", version {}", version);
    SecretBytes made(kKeySize);
    symmetric_.derive((version == kBondsVersion ? records_ : key_).value().bytes(), id_, purpose, made.bytes());
    return made;
}

/// Throws Error if the MAC is wrong: a program without the dump key wrote or changed encryption.img.
void DumpKey::requireMade(const Head& head) const {
    if (head.id != id_ || !symmetric_.isMac(macKey(head.version).bytes(),
                                            authenticated(id_, head.bonds, head.recipients, head.version), head.mac))
        fail("it is damaged or changed since criu wrote it");
}

bool DumpKey::isKept(const ImageDir& images, Kept records, const EncryptedSet& set) {
    const Head head(images, set);
    return std::equal(head.id.begin(), head.id.end(), records.begin());
}

void DumpKey::keepRecords(Keep into) const {
    std::ranges::copy(id_, into.begin());
    std::ranges::copy(records_.value().bytes().first<kKeySize>(), into.subspan<sizeof(id_)>().begin());
}

void DumpKey::keepPages(Keep into) const {
    symmetric_.derive(key_.value().bytes(), id_, "criu images: id of pages", into.first<sizeof(id_)>());
    symmetric_.derive(key_.value().bytes(), id_, "criu images: pages", into.last<kKeySize>());
}

void DumpKey::keepRecordsOfPages(Keep into) const {
    const SecretBytes pages(kKeptSize);
    keepPages(pages.bytes().first<kKeptSize>());
    DumpKey(Kept(pages.bytes().first<kKeptSize>()), std::nullopt).keepRecords(into);
}

EncryptedId DumpKey::idOfPages() const {
    const SecretBytes pages(kKeptSize);
    keepPages(pages.bytes().first<kKeptSize>());
    return DumpKey(Kept(pages.bytes().first<kKeptSize>()), std::nullopt).id();
}

std::vector<std::byte> DumpKey::head(std::span<const PublicKey> keys, const EncryptedSet& set) const {
    if (keys.size() > kMostRecipients)
        fail("images can be encrypted for {} recipients, not {}", kMostRecipients, keys.size());
    std::vector<Recipient> recipients(keys.size());
    for (std::size_t i = 0; i < recipients.size(); ++i) {
        crypto::KeyAgreement::Agreed agreed = agreement_.agree(keys[i]);
        Recipient& each = recipients[i];
        each.type = keys[i].type;
        each.share = std::move(agreed.share);
        symmetric_.seal(keyForEntry(symmetric_, agreed.secret, each.share, keys[i]).bytes(), {}, id_,
                        key_.value().bytes(), each.wrapped);
    }
    const bool allX25519 = std::all_of(recipients.begin(), recipients.end(),
                                       [](const Recipient& each) { return each.type == KeyType::X25519; });
    const std::uint32_t version = records_ ? kBondsVersion : allX25519 ? kFirstVersion : kVersion;
    std::vector<EncryptionRecipient> entries(recipients.size(), ENCRYPTION_RECIPIENT__INIT);
    std::vector<EncryptionRecipient*> pointers(recipients.size());
    for (std::size_t i = 0; i < recipients.size(); ++i) {
        entries[i].share = fieldOf(recipients[i].share);
        entries[i].wrapped = fieldOf(recipients[i].wrapped);
        entries[i].has_kind = version != kFirstVersion ? 1 : 0;
        entries[i].kind = static_cast<std::uint32_t>(recipients[i].type);
        pointers[i] = &entries[i];
    }
    const crypto::Hash mac = symmetric_.mac(macKey(version).bytes(), authenticated(id_, bonds_, recipients, version));
    EncryptionHead message = ENCRYPTION_HEAD__INIT;
    message.version = version;
    message.id = fieldOf(id_);
    message.n_recipients = pointers.size();
    message.recipients = pointers.data();
    message.mac = fieldOf(mac);
    message.has_parent = bonds_.parent ? 1 : 0;
    if (bonds_.parent)
        message.parent = fieldOf(*bonds_.parent);
    message.has_apart = message.apart = bonds_.pagesApart ? 1 : 0;
    return imageOf(set.head, message.base);
}

SecretBytes DumpKey::ofFile(std::uint64_t file, bool record) const {
    const std::optional<SecretBytes>& from = record && records_ ? records_ : key_;
    if (!from)
        fail("the key of pages isn't known");
    SecretBytes key(kKeySize);
    symmetric_.derive(from->bytes(), id_, fmt::format("criu images: file {}", file), key.bytes());
    return key;
}

EncryptedId DumpKey::id() const {
    EncryptedId id{};
    symmetric_.derive(records_.value().bytes(), id_, "criu images: what builds on them", id);
    return id;
}

bool isRecord(std::string_view name) noexcept {
    return name == imageInfo(ImageKind::Inventory).name || name.starts_with("pagemap-");
}

bool areEncrypted(const ImageDir& images) {
    if (images.exists(kDumpSet.head) || images.exists(kPagesSet.head))
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
