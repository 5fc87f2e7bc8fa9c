// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "criu/base/crypto/key_agreement.hpp"
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

/// Opens the parent images of a dump that isn't encrypted. If the dump is signed, the same key must have signed the
/// parent images, and the function returns their SignedId. Copies their records to a spool and verifies this copy; the
/// dump reads only the copy. Throws Error.
[[nodiscard]] SignedParent takePlainParent(Run& run, ImageDir& images);

/// Opens the parent images of an encrypted dump. The parent images must be encrypted for the same recipients. If the
/// dump is signed, the same key must have signed the parent images. If the key to decrypt them is missing, warns and
/// returns no parent images. Throws Error. `tracking`: WP tracker daemon, which has the key of their records; null if
/// no daemon exists.
[[nodiscard]] EncryptedParent takeEncryptedParent(Run& run, ImageDir& place, WpTrackerLink* tracking);

/// Returns the key that the WP tracker daemon keeps for the next dump. This key decrypts the records of this dump, but
/// not the pages. `key`: key of this dump, with encryption links.
[[nodiscard]] std::shared_ptr<crypto::SecretBytes> keptKey(const DumpKey& key,
                                                           std::span<const crypto::PublicKey> recipients);

}  // namespace criu::engine
