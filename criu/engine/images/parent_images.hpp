// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "criu/base/key_agreement.hpp"
#include "criu/engine/images/image_transfer.hpp"
#include "criu/image/encryption.hpp"
#include "criu/image/image_dir.hpp"

namespace criu::engine {

/// Parent images (--prev-images-dir) of an encrypted dump.
struct EncryptedParent {
    std::optional<EncryptedId> id;  ///< id of their encryption; empty without parent images
    SignedParent signedId;
    /// Key of the records of the parent pages (DumpKey::keepRecordsOfPages()). Null if no page server has parent pages.
    std::shared_ptr<crypto::SecretBytes> pagesKey;
    std::optional<ImageDir> records;  ///< decrypted inventory and pagemaps of the parent images in a spool
};

/// Returns a hash of the recipients, which doesn't depend on their order.
[[nodiscard]] crypto::Hash hashOf(std::span<const crypto::PublicKey> recipients);

/// Creates the symbolic link to the parent images (--prev-images-dir), and opens these images. Throws Error.
void linkParentImages(Run& run, ImageDir& images);

/// Opens the parent images of a dump that isn't encrypted. For a signed dump, the parent images must be signed with the
/// same key, and the function returns their SignedId. Copies their records to a spool before the dump reads them, so
/// that it uses only verified content. Throws Error.
[[nodiscard]] SignedParent takePlainParent(Run& run, ImageDir& images);

/// Opens the parent images of an encrypted dump. The parent images must be encrypted for the same recipients. For a
/// signed dump, they must also be signed with the same key. Without the right key, warns, and the dump has no parent
/// images. Throws Error. `tracking`: WP tracker daemon, which has the key of their records; null if it doesn't exist.
[[nodiscard]] EncryptedParent takeEncryptedParent(Run& run, ImageDir& place, WpTrackerLink* tracking);

/// Returns the key that the WP tracker daemon keeps of a dump for the next dump. It decrypts records, but not pages.
/// `key`: dump key with encryption links.
[[nodiscard]] std::shared_ptr<crypto::SecretBytes> keptKey(const DumpKey& key,
                                                           std::span<const crypto::PublicKey> recipients);

}  // namespace criu::engine
