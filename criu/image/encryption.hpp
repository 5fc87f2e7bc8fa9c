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

/// The keys of encrypted images (Documentation/images.md): a dump has a key of its own, which encryption.img has once
/// for each recipient, and each file has one that follows from it.
namespace criu {

class ImageDir;

/// What the inventory of encrypted images has in its extensions; it is the only file that isn't encrypted.
inline constexpr std::string_view kEncrypted = "encrypted";

/// What is encrypted together, but for the last of what is written at once.
inline constexpr std::size_t kEncryptedBlock = std::size_t{1} << 20;

/// What encrypted images are known by in those that build on them. Only who has their key can make it, and it says
/// nothing of the key.
using EncryptedId = std::array<std::byte, 32>;

/// The key of one dump. Several threads may use one object.
class DumpKey {
public:
    /// Bytes of keep().
    static constexpr std::size_t kKeptSize = 16 + crypto::kKeySize;

    /// A new one. `parent`: of what the dump builds on.
    explicit DumpKey(std::optional<EncryptedId> parent = std::nullopt);
    /// That of encrypted images, if one of the identities is of a recipient. Throws Error if none is, and for images
    /// that aren't as they were written.
    DumpKey(const ImageDir& images, std::span<const crypto::SecretKey> identities);
    /// That of images that have it, as somebody has kept it; isKept() is true of both. Throws Error for images that
    /// aren't as they were written.
    DumpKey(const ImageDir& images, std::span<const std::byte, kKeptSize> kept);

    /// Whether a key that was kept says that it is of these images. Throws Error.
    [[nodiscard]] static bool isKept(const ImageDir& images, std::span<const std::byte, kKeptSize> kept);
    /// All that the next dump needs to read what this one has written. Throws Error.
    void keep(std::span<std::byte, kKeptSize> into) const;

    /// All of encryption.img. Throws Error.
    [[nodiscard]] std::vector<std::byte> head(std::span<const crypto::PublicKey> recipients) const;

    /// The key of one file, by the number that is in its name.
    [[nodiscard]] crypto::SecretBytes ofFile(std::uint64_t file) const;

    /// What these images are known by.
    [[nodiscard]] EncryptedId id() const;
    /// What those are known by that these build on; nothing if they don't.
    [[nodiscard]] const std::optional<EncryptedId>& parent() const noexcept { return parent_; }

    [[nodiscard]] const crypto::Symmetric& ciphers() const noexcept { return symmetric_; }

private:
    struct Head;

    void requireMade(const Head& head) const;

    crypto::Symmetric symmetric_;
    crypto::KeyAgreement agreement_;
    std::array<std::byte, 16> id_{};
    crypto::SecretBytes key_;
    std::optional<EncryptedId> parent_;
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
                               const std::function<void()>& checkStop, DecryptedPart part = DecryptedPart::All);

}  // namespace criu
