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

#include "criu/base/crypto/crypto.hpp"
#include "criu/base/crypto/key_agreement.hpp"
#include "criu/image/catalogue.hpp"

/// Keys of encrypted images (Documentation/images.md). Each dump has a dump key. encryption.img contains the dump key
/// encrypted for each recipient. criu derives the keys of files from the dump key.
namespace criu {

class ImageDir;

/// Set of encrypted images with one key. A directory may have two sets.
struct EncryptedSet {
    ImageKind head;   ///< kind of the image with the key for each recipient
    ImageKind files;  ///< kind of the encrypted files; the file with number 0 lists all others
};

/// Set of images that a dump writes.
inline constexpr EncryptedSet kDumpSet{ImageKind::Encryption, ImageKind::Encrypted};
/// Set of images that a page server writes for a dump. The dump derives the key of this set from its dump key.
inline constexpr EncryptedSet kPagesSet{ImageKind::PagesEncryption, ImageKind::EncryptedPages};

/// Extension that the inventory names if the images are encrypted. The inventory is the only unencrypted file.
inline constexpr std::string_view kEncrypted = "encrypted";

/// Maximum bytes of an encrypted block. The last block of a write(2) may be shorter.
inline constexpr std::size_t kEncryptedBlock = std::size_t{1} << 20;

/// Id of encrypted images, by which later dumps refer to their parent images. Only owners of the dump key can compute
/// the id; the id doesn't reveal the key.
using EncryptedId = std::array<std::byte, 32>;

/// Encryption links of the images of one dump.
struct EncryptionLinks {
    std::optional<EncryptedId> parent;  ///< id of the parent images; unset if there are none
    bool pagesApart = false;            ///< true if a page server stores the pages in a second encrypted set
    bool builtUpon = false;  ///< true if a later dump may build on the images; images don't contain this value

    [[nodiscard]] bool any() const noexcept { return parent || pagesApart || builtUpon; }
};

/// Returns true for names of records: the inventory and pagemaps.
[[nodiscard]] bool isRecord(std::string_view name) noexcept;

/// Dump key, or key of the set that a page server writes for a dump. Several threads may use one object. If the dump
/// has encryption links, criu derives a second key from the dump key: the key of records. It decrypts records, but no
/// pages. The next dump needs only the key of records.
class DumpKey {
public:
    static constexpr std::size_t kKeptSize = 16 + crypto::kKeySize;
    using Kept = std::span<const std::byte, kKeptSize>;
    using Keep = std::span<std::byte, kKeptSize>;

    /// Creates a new random dump key.
    explicit DumpKey(const EncryptionLinks& bonds = {});
    /// Reads a key that keepPages() stored, for a page server that will write images.
    DumpKey(Kept whole, const std::optional<EncryptedId>& parent);
    /// Decrypts the dump key of images with one of `identities`. Throws Error if no identity fits a recipient, or if
    /// the images are damaged.
    DumpKey(const ImageDir& images, std::span<const crypto::SecretKey> identities, const EncryptedSet& set = kDumpSet);
    /// Reads a key of records that keepRecords() stored; isKept() must be true. Throws Error if the images are damaged.
    DumpKey(const ImageDir& images, Kept records, const EncryptedSet& set = kDumpSet);

    /// Returns true if a stored key of records belongs to these images. Throws Error.
    [[nodiscard]] static bool isKept(const ImageDir& images, Kept records, const EncryptedSet& set = kDumpSet);
    /// Stores the key of records, which the next dump needs. The images must have encryption links.
    void keepRecords(Keep into) const;
    /// keepPages() stores the complete key of the set that a page server writes for this dump. keepRecordsOfPages()
    /// stores the key of records of this set.
    void keepPages(Keep into) const;
    void keepRecordsOfPages(Keep into) const;

    /// Returns the content of encryption.img, or of the file `set.head`. Throws Error.
    [[nodiscard]] std::vector<std::byte> head(std::span<const crypto::PublicKey> recipients,
                                              const EncryptedSet& set = kDumpSet) const;

    /// Returns the key of a file. `file`: number in its name. `record`: true for records and the list of files. Throws
    /// Error if the object has only the key of records, and `record` is false.
    [[nodiscard]] crypto::SecretBytes ofFile(std::uint64_t file, bool record = false) const;

    /// Returns the id of these images, which must have encryption links.
    [[nodiscard]] EncryptedId id() const;
    /// Returns the id of the set that a page server writes for this dump.
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
    std::optional<crypto::SecretBytes> key_;      ///< complete key; unset if only the key of records is known
    std::optional<crypto::SecretBytes> records_;  ///< key of records; unset if the images have no encryption links
    EncryptionLinks bonds_;
};

/// Returns true if a directory contains encrypted images, even if some files are missing.
[[nodiscard]] bool areEncrypted(const ImageDir& images);

/// Number and total bytes of decrypted files.
struct DecryptedAmounts {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
};

/// Images that decryptImages() decrypts.
enum class DecryptedPart {
    All,
    Records,  ///< only records, which the next dump reads: the inventory and pagemaps
};

/// Decrypts images of a directory into the directory `into`, by threads on all processors. If `into` is null, only
/// checks the images. If `part` is Records, checks only the sizes of all other images. Throws Error if an image is
/// damaged or missing, or if another dump wrote it; the error names file and offset. Any thread may call `checkStop`
/// between blocks; `checkStop` throws to stop the work.
DecryptedAmounts decryptImages(const ImageDir& images, const DumpKey& key, const ImageDir* into,
                               const std::function<void()>& checkStop, DecryptedPart part = DecryptedPart::All,
                               const EncryptedSet& set = kDumpSet);

}  // namespace criu
