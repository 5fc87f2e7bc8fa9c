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

/// The keys of encrypted images (Documentation/images.md): a dump has a key of its own, which encryption.img has once
/// for each recipient, and each file has one that follows from it.
namespace criu {

class ImageDir;

/// Files of encrypted images, each set with a key of its own. There may be two of them in one directory.
struct EncryptedSet {
    ImageKind head;   ///< who may decrypt it
    ImageKind files;  ///< of which number 0 lists the others
};

/// What a dump writes.
inline constexpr EncryptedSet kDumpSet{ImageKind::Encryption, ImageKind::Encrypted};
/// What a page server writes of a dump. Its key follows from the dump's.
inline constexpr EncryptedSet kPagesSet{ImageKind::PagesEncryption, ImageKind::EncryptedPages};

/// What the inventory of encrypted images has in its extensions; it is the only file that isn't encrypted.
inline constexpr std::string_view kEncrypted = "encrypted";

/// What is encrypted together, but for the last of what is written at once.
inline constexpr std::size_t kEncryptedBlock = std::size_t{1} << 20;

/// What encrypted images are known by in those that build on them. Only who has their key can make it, and it says
/// nothing of the key.
using EncryptedId = std::array<std::byte, 32>;

/// How images belong to others.
struct EncryptionLinks {
    std::optional<EncryptedId> parent;  ///< of what they build on
    bool pagesApart = false;            ///< a page server has their pages: they are in another set
    bool builtUpon = false;             ///< a next dump may build on them; not said in images

    [[nodiscard]] bool any() const noexcept { return parent || pagesApart || builtUpon; }
};

/// Whether a file has what a dump reads of images that it builds on: the inventory, or what pages there are.
[[nodiscard]] bool isRecord(std::string_view name) noexcept;

/// The key of one dump, or of a page server's part of it. What has bonds has another one for records, which follows
/// from it: who has only that can read what a next dump needs, but no page. Several threads may use one object.
class DumpKey {
public:
    static constexpr std::size_t kKeptSize = 16 + crypto::kKeySize;
    using Kept = std::span<const std::byte, kKeptSize>;
    using Keep = std::span<std::byte, kKeptSize>;

    /// A new one.
    explicit DumpKey(const EncryptionLinks& bonds = {});
    /// One that keepPages() has made, for images that are yet to be written.
    DumpKey(Kept whole, const std::optional<EncryptedId>& parent);
    /// That of encrypted images, if one of the identities is of a recipient. Throws Error if none is, and for images
    /// that aren't as they were written.
    DumpKey(const ImageDir& images, std::span<const crypto::SecretKey> identities, const EncryptedSet& set = kDumpSet);
    /// For their records only: what somebody has kept, of which isKept() is true. Throws Error for images that aren't
    /// as they were written.
    DumpKey(const ImageDir& images, Kept records, const EncryptedSet& set = kDumpSet);

    /// Whether what was kept says that it is of these images. Throws Error.
    [[nodiscard]] static bool isKept(const ImageDir& images, Kept records, const EncryptedSet& set = kDumpSet);
    /// All that the next dump needs, of images that have bonds.
    void keepRecords(Keep into) const;
    /// The whole key of what a page server writes of this dump, and what the next dump needs of that.
    void keepPages(Keep into) const;
    void keepRecordsOfPages(Keep into) const;

    /// All of encryption.img, or of the file of another set. Throws Error.
    [[nodiscard]] std::vector<std::byte> head(std::span<const crypto::PublicKey> recipients,
                                              const EncryptedSet& set = kDumpSet) const;

    /// The key of one file, by the number that is in its name; `record`: of one with records, as the list of all is.
    /// Throws Error for other files if only the key of records is known.
    [[nodiscard]] crypto::SecretBytes ofFile(std::uint64_t file, bool record = false) const;

    /// What these images are known by, if they have bonds.
    [[nodiscard]] EncryptedId id() const;
    /// What the part of a page server is known by.
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
    std::optional<crypto::SecretBytes> key_;      ///< absent: only that of records is known
    std::optional<crypto::SecretBytes> records_;  ///< absent: the images have no bonds
    EncryptionLinks bonds_;
};

/// Whether a directory has encrypted images, or parts of such.
[[nodiscard]] bool areEncrypted(const ImageDir& images);

/// What was decrypted.
struct DecryptedAmounts {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
};

/// What of encrypted images is decrypted.
enum class DecryptedPart {
    All,
    Records,  ///< what the next dump reads: the inventory and what pages there are, but not the pages
};

/// Decrypts images of a directory into another one (null: only looks whether that can be done), by all cores. Throws
/// Error, which names file and offset, unless all are there as one dump has written them, and nothing else; of what
/// isn't decrypted it is seen only whether it has its size. `checkStop` is called between blocks, from any thread, and
/// throws if the work is to end.
DecryptedAmounts decryptImages(const ImageDir& images, const DumpKey& key, const ImageDir* into,
                               const std::function<void()>& checkStop, DecryptedPart part = DecryptedPart::All,
                               const EncryptedSet& set = kDumpSet);

}  // namespace criu
