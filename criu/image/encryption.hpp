// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "criu/base/crypto.hpp"
#include "criu/base/key_agreement.hpp"
#include "criu/image/catalogue.hpp"

/// Keys of encrypted images (Documentation/images.md). Each dump has a key, which encryption.img contains once for
/// each recipient. Keys of files are derived from it.
namespace criu {

class ImageDir;

/// Names of encrypted images that share a key. A directory may have two such sets.
struct EncryptedSet {
    ImageKind head;   ///< keys for the recipients
    ImageKind files;  ///< encrypted files; number 0 lists the others
};

/// Images that a dump writes.
inline constexpr EncryptedSet kDumpSet{ImageKind::Encryption, ImageKind::Encrypted};
/// Images that a page server writes for a dump. Their key is derived from the dump's.
inline constexpr EncryptedSet kPagesSet{ImageKind::PagesEncryption, ImageKind::EncryptedPages};

/// Extension in the inventory of encrypted images. The inventory is the only file that isn't encrypted.
inline constexpr std::string_view kEncrypted = "encrypted";

/// Bytes of a block. The last block of a write may be shorter.
inline constexpr std::size_t kEncryptedBlock = std::size_t{1} << 20;

/// Id by which images refer to the encrypted images that they build on. Only the owner of their key can compute it,
/// and it doesn't reveal the key.
using EncryptedId = std::array<std::byte, 32>;

/// Encryption links of images.
struct EncryptionLinks {
    std::optional<EncryptedId> parent;  ///< id of the parent images
    bool pagesApart = false;            ///< a page server stores the pages, in another set
    bool builtUpon = false;             ///< a later dump may build on them; images don't contain this

    [[nodiscard]] bool any() const noexcept { return parent || pagesApart || builtUpon; }
};

/// True if a file is one of the records: the inventory, or a pagemap.
[[nodiscard]] bool isRecord(std::string_view name) noexcept;

/// Key of one dump, or of a page server's part of it. A dump with encryption links derives another key for records:
/// it decrypts the records that the next dump reads, but no page. Several threads may use one object.
class DumpKey {
public:
    static constexpr std::size_t kKeptSize = 16 + crypto::kKeySize;
    using Kept = std::span<const std::byte, kKeptSize>;
    using Keep = std::span<std::byte, kKeptSize>;

    /// Makes a new key.
    explicit DumpKey(const EncryptionLinks& bonds = {});
    /// Takes over a key that keepPages() stored, for images that will be written.
    DumpKey(Kept whole, const std::optional<EncryptedId>& parent);
    /// Decrypts the key of encrypted images. Throws Error if no identity fits a recipient, or if the images are
    /// damaged.
    DumpKey(const ImageDir& images, std::span<const crypto::SecretKey> identities, const EncryptedSet& set = kDumpSet);
    /// Takes over a stored key of records, for which isKept() is true. Throws Error if the images are damaged.
    DumpKey(const ImageDir& images, Kept records, const EncryptedSet& set = kDumpSet);

    /// True if the stored key of records belongs to these images. Throws Error.
    [[nodiscard]] static bool isKept(const ImageDir& images, Kept records, const EncryptedSet& set = kDumpSet);
    /// Stores the key that the next dump needs, for images with encryption links.
    void keepRecords(Keep into) const;
    /// Store the complete key of a page server's images of this dump, and the key of their records.
    void keepPages(Keep into) const;
    void keepRecordsOfPages(Keep into) const;

    /// Returns the content of encryption.img, or of the corresponding file of another set. Throws Error.
    [[nodiscard]] std::vector<std::byte> head(std::span<const crypto::PublicKey> recipients,
                                              const EncryptedSet& set = kDumpSet) const;

    /// Returns the key of a file by the number in its name. `record` is true for records and the list of files.
    /// Throws Error for other files if only the key of records is known.
    [[nodiscard]] crypto::SecretBytes ofFile(std::uint64_t file, bool record = false) const;

    /// Returns the id of images with encryption links.
    [[nodiscard]] EncryptedId id() const;
    /// Returns the id of the page server's part.
    [[nodiscard]] EncryptedId idOfPages() const;
    [[nodiscard]] const EncryptionLinks& bonds() const noexcept { return bonds_; }

    [[nodiscard]] const crypto::Symmetric& ciphers() const noexcept { return symmetric_; }

private:
    struct Head;

    void readBonds(const Head& head);
    void deriveRecords();
    void requireMade(const Head& head) const;
    [[nodiscard]] crypto::SecretBytes macKey(std::uint32_t version) const;

    crypto::Symmetric symmetric_;
    crypto::KeyAgreement agreement_;
    std::array<std::byte, 16> id_{};
    std::optional<crypto::SecretBytes> key_;      ///< absent: only the key of records is known
    std::optional<crypto::SecretBytes> records_;  ///< absent: the images have no encryption links
    EncryptionLinks bonds_;
};

/// True if a directory has encrypted images, or parts of them.
[[nodiscard]] bool areEncrypted(const ImageDir& images);

/// Amount of decrypted files.
struct DecryptedAmounts {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
};

/// Part of encrypted images to decrypt.
enum class DecryptedPart {
    All,
    Records,  ///< images that the next dump reads: the inventory and pagemaps, without pages
};

/// Decrypts images of a directory into another one with all cores; null only checks. Throws Error, which names file
/// and offset, unless the directory has exactly the undamaged images of one dump. For files that it doesn't decrypt,
/// it checks only the size. Any thread calls `checkStop` between blocks; it throws to end the work.
DecryptedAmounts decryptImages(const ImageDir& images, const DumpKey& key, const ImageDir* into,
                               const std::function<void()>& checkStop, DecryptedPart part = DecryptedPart::All,
                               const EncryptedSet& set = kDumpSet);

}  // namespace criu
