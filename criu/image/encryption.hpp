// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <array>
#include <cstdint>
#include <functional>
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

/// The key of one dump. Several threads may use one object.
class DumpKey {
public:
    /// A new one.
    DumpKey();
    /// That of encrypted images, if one of the identities is of a recipient. Throws Error if none is, and for images
    /// that aren't as they were written.
    DumpKey(const ImageDir& images, std::span<const crypto::SecretKey> identities);

    /// All of encryption.img. Throws Error.
    [[nodiscard]] std::vector<std::byte> head(std::span<const crypto::PublicKey> recipients) const;

    /// The key of one file, by the number that is in its name.
    [[nodiscard]] crypto::SecretBytes ofFile(std::uint64_t file) const;

    [[nodiscard]] const crypto::Symmetric& ciphers() const noexcept { return symmetric_; }

private:
    crypto::Symmetric symmetric_;
    crypto::KeyAgreement agreement_;
    std::array<std::byte, 16> id_{};
    crypto::SecretBytes key_;
};

/// Whether a directory has encrypted images, or parts of such.
[[nodiscard]] bool areEncrypted(const ImageDir& images);

/// What was decrypted.
struct DecryptedAmounts {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
};

/// Decrypts all images of a directory into another one (null: only looks whether that can be done), by all cores.
/// Throws Error, which names file and offset, unless all are there as one dump has written them, and nothing else.
/// `checkStop` is called between blocks, from any thread, and throws if the work is to end.
DecryptedAmounts decryptImages(const ImageDir& images, const DumpKey& key, const ImageDir* into,
                               const std::function<void()>& checkStop);

}  // namespace criu
